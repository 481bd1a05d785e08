package ops

import (
	"cmp"
	"slices"
	"sync"
)

// families lists the tables of operators; a new family is a new file and a new
// line here.
var families = [][]Op{unaryOps, activationOps, binaryOps, shapeOps, layoutOps, joinOps, sliceOps, padOps, pickOps, gatherOps, scatterOps, castOps, generatorOps, matmulOps, convOps, poolOps, normOps, reduceOps, resizeOps, rnnOps, controlOps, orderOps, sequenceOps, textOps, signalOps, quantizeOps, bitOps, normalizeOps, attentionOps, lossOps, rotaryOps, einsumOps, randomOps, sampleOps, unpoolOps, qconvOps, linearAttentionOps, flexAttentionOps, imageOps, gradientOps, mlFeatureOps, mlLabelOps, mlLinearOps, mlTreeOps, trainingOps,
	contribActivationOps, contribMatmulOps, contribConvOps, contribMovesOps, contribNormOps, contribQLinearOps, contribQuantizeOps, contribAttentionOps, contribCropOps, contribGatherOps, contribBnbOps, contribDeclaredOps}

type opKey struct{ domain, name string }

var byName = sync.OnceValue(func() map[opKey][]*Op {
	index := map[opKey][]*Op{}
	for _, family := range families {
		for i := range family {
			op := &family[i]
			k := opKey{op.Domain, op.Name}
			index[k] = append(index[k], op)
		}
	}
	for _, versions := range index {
		slices.SortFunc(versions, func(a, b *Op) int { return cmp.Compare(b.Since, a.Since) })
	}
	return index
})

// Lookup returns the entry of the operator that is in force in the given opset
// of its domain, or nil.
func Lookup(domain, name string, opset int) *Op {
	if domain == "ai.onnx" {
		domain = ""
	}
	for _, op := range byName()[opKey{domain, name}] {
		if op.Since <= opset {
			return op
		}
	}
	return nil
}

// All returns every entry, ordered by domain, name and version.
func All() []*Op {
	var all []*Op
	for _, versions := range byName() {
		all = append(all, versions...)
	}
	slices.SortFunc(all, func(a, b *Op) int {
		return cmp.Or(cmp.Compare(a.Domain, b.Domain), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Since, b.Since))
	})
	return all
}
