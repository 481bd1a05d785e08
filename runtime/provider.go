package runtime

import (
	"fmt"
	"strings"

	"github.com/starlarkgs/starlarkgs/internal/spell"
)

// Provider is an execution provider of ONNX Runtime: what runs nodes on one kind
// of device.
type Provider struct {
	// Name is how users choose it.
	Name string
	// Runtime is its name in the runtime's lists and profiles.
	Runtime string
	// Register is how the runtime's general call spells it; "" where it has a call
	// of its own, or needs none.
	Register string
	// Library is the library of its own that it lies in, beside the runtime's, or "".
	Library string
	// Install says where a library that has it comes from.
	Install string
	// Needs is what it runs on.
	Needs string
	// Options are those that neither name a file nor an address in memory.
	Options []string
}

// Providers lists the providers that are known; a library may have others, which
// are chosen by their names in it.
var Providers = []Provider{
	{Name: "cpu", Runtime: "CPUExecutionProvider", Install: "every library"},
	{Name: "webgpu", Runtime: "WebGpuExecutionProvider", Register: "WebGPU",
		Install: "the library of `sgs backends install onnxruntime` (Linux x64, Windows, macOS)",
		Needs:   "a device of Vulkan, Direct3D 12 or Metal; on Linux the Vulkan loader (libvulkan1) and a driver, which may be one in software",
		Options: []string{"deviceId", "powerPreference", "preferredLayout", "enableGraphCapture", "enableInt64", "validationMode", "storageBufferCacheMode", "uniformBufferCacheMode", "queryResolveBufferCacheMode", "defaultBufferCacheMode", "forceCpuNodeNames", "dawnBackendType"}},
	{Name: "cuda", Runtime: "CUDAExecutionProvider", Library: "onnxruntime_providers_cuda",
		Install: "the Python package onnxruntime-gpu with the CUDA and cuDNN that it names; name its libonnxruntime by --ort-lib or SGS_ORT_LIB",
		Needs:   "an NVIDIA device and its driver, CUDA and cuDNN",
		Options: []string{"device_id", "gpu_mem_limit", "arena_extend_strategy", "cudnn_conv_algo_search", "cudnn_conv_use_max_workspace", "cudnn_conv1d_pad_to_nc1d", "do_copy_in_default_stream", "enable_cuda_graph", "enable_skip_layer_norm_strict_mode", "prefer_nhwc", "use_tf32", "fuse_conv_bias", "sdpa_kernel", "tunable_op_enable", "tunable_op_tuning_enable", "use_ep_level_unified_stream"}},
	{Name: "tensorrt", Runtime: "TensorrtExecutionProvider", Library: "onnxruntime_providers_tensorrt",
		Install: "the Python package onnxruntime-gpu with CUDA, cuDNN and TensorRT; name its libonnxruntime by --ort-lib or SGS_ORT_LIB",
		Needs:   "an NVIDIA device and its driver, CUDA, cuDNN and TensorRT",
		Options: []string{"device_id", "trt_max_workspace_size", "trt_max_partition_iterations", "trt_min_subgraph_size", "trt_fp16_enable", "trt_bf16_enable", "trt_int8_enable", "trt_dla_enable", "trt_dla_core", "trt_builder_optimization_level", "trt_auxiliary_streams", "trt_layer_norm_fp32_fallback", "trt_profile_min_shapes", "trt_profile_max_shapes", "trt_profile_opt_shapes", "trt_cuda_graph_enable", "trt_sparsity_enable", "trt_force_sequential_engine_build", "trt_context_memory_sharing_enable"}},
	{Name: "coreml", Runtime: "CoreMLExecutionProvider",
		Install: "the library of `sgs backends install onnxruntime` on macOS, the only system that has it",
		Options: []string{"ModelFormat", "MLComputeUnits", "RequireStaticInputShapes", "EnableOnSubgraphs", "SpecializationStrategy", "ProfileComputePlan", "AllowLowPrecisionAccumulationOnGPU"}},
	{Name: "directml", Runtime: "DmlExecutionProvider",
		Install: "the library of `sgs backends install onnxruntime` on Windows, the only system that has it",
		Needs:   "a device of Direct3D 12",
		Options: []string{"device_id"}},
	{Name: "openvino", Runtime: "OpenVINOExecutionProvider", Library: "onnxruntime_providers_openvino",
		Install: "the Python package onnxruntime-openvino; name its libonnxruntime by --ort-lib or SGS_ORT_LIB",
		Needs:   "an Intel processor, or a device of its with the driver",
		Options: []string{"device_type", "precision", "num_of_threads", "num_streams", "enable_opencl_throttling", "enable_qdq_optimizer", "disable_dynamic_shapes", "model_priority"}},
}

// ProviderNames lists the names of the providers that are known.
func ProviderNames() []string {
	names := make([]string, len(Providers))
	for i, p := range Providers {
		names[i] = p.Name
	}
	return names
}

// FindProvider returns the provider of a name, which may be the runtime's own. One
// that is not known is taken by its name as it is.
func FindProvider(name string) Provider {
	for _, p := range Providers {
		if strings.EqualFold(name, p.Name) || strings.EqualFold(name, p.Runtime) {
			return p
		}
	}
	short := strings.TrimSuffix(name, providerSuffix)
	for register, long := range others {
		if strings.EqualFold(short, register) || strings.EqualFold(name, long) {
			return Provider{Name: strings.ToLower(register), Runtime: long, Register: register, Install: custom}
		}
	}
	return Provider{Name: short, Runtime: short + providerSuffix, Register: short, Install: custom}
}

const (
	providerSuffix = "ExecutionProvider"
	custom         = "a library of ONNX Runtime that was built for it"
)

// others are providers that no library of a package registry has, as the runtime's
// general call spells them.
var others = map[string]string{
	"QNN": "QNNExecutionProvider", "XNNPACK": "XnnpackExecutionProvider", "VitisAI": "VitisAIExecutionProvider", "MIGraphX": "MIGraphXExecutionProvider",
	"NvTensorRtRtx": "NvTensorRTRTXExecutionProvider", "AZURE": "AzureExecutionProvider", "SNPE": "SNPEExecutionProvider", "WEBNN": "WebNNExecutionProvider", "JS": "JsExecutionProvider",
}

// IsProvider reports whether two names are of one provider.
func IsProvider(a, b string) bool {
	return strings.EqualFold(FindProvider(a).Runtime, FindProvider(b).Runtime)
}

// CheckNoProviders refuses options that only a native backend has: without the
// refusal a run that was to be on a device would be on the CPU.
func CheckNoProviders(backend string, o Options) error {
	switch {
	case len(o.Providers) > 0:
		return OptionErrorf("providers: got %q, but the backend %s has none: choose onnxruntime", o.Providers, backend)
	case len(o.ProviderOptions) > 0:
		return OptionErrorf("provider options: the backend %s has no providers: choose onnxruntime", backend)
	case len(o.Settings) > 0:
		return OptionErrorf("session options: the backend %s has none: choose onnxruntime", backend)
	}
	return nil
}

// OptionError tells that an option of a session is none, or has a wrong value.
type OptionError struct{ Text string }

// Error names the option and what it takes.
func (e *OptionError) Error() string { return e.Text }

// OptionErrorf makes an OptionError.
func OptionErrorf(format string, args ...any) error {
	return &OptionError{fmt.Sprintf(format, args...)}
}

// CheckProviderOptions refuses options of providers that are not chosen.
func CheckProviderOptions(o Options) error {
next:
	for name := range o.ProviderOptions {
		for _, p := range o.Providers {
			if IsProvider(p, name) {
				continue next
			}
		}
		return OptionErrorf("options of provider %q: got no such provider, want one of %q%s", name, o.Providers, spell.Hint(name, o.Providers))
	}
	return nil
}

// OptionsOf returns the options of a provider.
func (o Options) OptionsOf(provider string) map[string]string {
	for name, options := range o.ProviderOptions {
		if IsProvider(name, provider) {
			return options
		}
	}
	return nil
}
