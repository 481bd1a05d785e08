package runtime

import (
	"fmt"
	"slices"
	"strings"
)

// Session options with names that say more than their values do.
const (
	// CustomOps names a native library of operators, which is loaded.
	CustomOps = "custom_ops"
	// DimensionPrefix begins the names of those that give a symbol its size.
	DimensionPrefix = "dimension."
)

// ConfigEntries are the entries of ONNX Runtime's configuration that are known and
// name no file.
var ConfigEntries = []string{
	"mlas.disable_kleidiai", "mlas.use_lut_gemm",
	"optimization.disable_specified_optimizers", "optimization.enable_cast_chain_elimination", "optimization.enable_gelu_approximation",
	"optimization.minimal_build_optimizations",
	"session.allow_released_opsets_only", "session.debug_layout_transformation",
	"session.disable_aot_function_inlining", "session.disable_cpu_ep_fallback", "session.disable_double_qdq_remover", "session.disable_prepacking",
	"session.disable_qdq_constant_folding", "session.disable_quant_qdq", "session.dynamic_block_base", "session.enable_dq_matmulnbits_fusion",
	"session.enable_quant_qdq_cleanup", "session.force_spinning_stop", "session.graph_optimizations_loop_level",
	"session.inter_op.allow_spinning", "session.inter_op.spin_backoff_max", "session.inter_op.spin_duration_us",
	"session.intra_op.allow_spinning", "session.intra_op.spin_backoff_max", "session.intra_op.spin_duration_us", "session.intra_op_thread_affinities",
	"session.qdq_matmulnbits_accuracy_level", "session.qdq_matmulnbits_block_size", "session.qdqisint8allowed",
	"session.record_ep_graph_assignment_info", "session.set_denormal_as_zero", "session.strict_shape_type_inference",
	"session.use_device_allocator_for_initializers", "session.use_env_allocators", "session.x64quantprecision",
}

// FileEntries are those that make the runtime read or write files.
var FileEntries = []string{
	"ep.context_embed_mode", "ep.context_enable", "ep.context_file_path",
	"session.collect_node_memory_stats_to_file", "session.node_partition_config_file",
}

// Harmless returns an error that names the first option by which a session could
// read or write files, load native code or be handed an address: what a script may
// not do of its own. What is not known to be harmless is taken not to be.
func (o Options) Harmless() error {
	for name := range o.Settings {
		if name == CustomOps || strings.Contains(name, ".") && !strings.HasPrefix(name, DimensionPrefix) && !slices.Contains(ConfigEntries, name) {
			return fmt.Errorf("session option %q", name)
		}
	}
	for provider, options := range o.ProviderOptions {
		for key := range options {
			if p := FindProvider(provider); p.Name != "cpu" && !slices.Contains(p.Options, key) {
				return fmt.Errorf("option %q of provider %q", key, provider)
			}
		}
	}
	return nil
}
