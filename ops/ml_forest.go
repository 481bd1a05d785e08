package ops

// floatsOf returns the attribute of that name, or the tensor attribute of that
// name and "_as_tensor", in float64.
func (c *Call) floatsOf(name string) ([]float64, error) {
	a, err := c.oneOf(name+"_as_tensor", name)
	if err != nil || a == nil {
		return nil, err
	}
	vs, err := a.Float64s()
	if err != nil {
		return nil, c.Errorf("%s: %w", name, err)
	}
	return vs, nil
}

// sameLength fails unless an attribute has n numbers, or none where it may be left out.
func (c *Call) sameLength(name string, got, n int, optional bool) error {
	if got == n || optional && got == 0 {
		return nil
	}
	return c.Errorf("%s: got %d numbers, want %d", name, got, n)
}

// oldForest reads the attributes of TreeEnsembleClassifier and -Regressor, whose
// leaves are nodes; prefix is "class" or "target".
func (c *Call) oldForest(prefix string, targets int) (*forest, error) {
	if targets < 1 || targets > mostPad {
		return nil, c.Errorf("got %d targets, want at least 1", targets)
	}
	trees, ids := c.Ints("nodes_treeids"), c.Ints("nodes_nodeids")
	modes := c.Strs("nodes_modes")
	values, err := c.floatsOf("nodes_values")
	if err != nil {
		return nil, err
	}
	yes, no := c.Ints("nodes_truenodeids"), c.Ints("nodes_falsenodeids")
	features, missing := c.Ints("nodes_featureids"), c.Ints("nodes_missing_value_tracks_true")
	n := len(trees)
	for name, got := range map[string]int{"nodes_nodeids": len(ids), "nodes_modes": len(modes), "nodes_values": len(values),
		"nodes_truenodeids": len(yes), "nodes_falsenodeids": len(no), "nodes_featureids": len(features)} {
		if err := c.sameLength(name, got, n, false); err != nil {
			return nil, err
		}
	}
	if err := c.sameLength("nodes_missing_value_tracks_true", len(missing), n, true); err != nil {
		return nil, err
	}
	f := &forest{targets: targets, nodes: make([]treeNode, n)}
	index := make(map[[2]int]int, n)
	begun := map[int]bool{}
	for i := range n {
		index[[2]int{trees[i], ids[i]}] = i
		if !begun[trees[i]] {
			begun[trees[i]] = true
			f.roots = append(f.roots, i)
		}
	}
	for i := range n {
		mode, ok := treeModes[modes[i]]
		if !ok || mode == treeMember {
			return nil, c.Errorf("nodes_modes: got %q, want BRANCH_LEQ, BRANCH_LT, BRANCH_GTE, BRANCH_GT, BRANCH_EQ, BRANCH_NEQ or LEAF", modes[i])
		}
		f.nodes[i] = treeNode{mode: mode, feature: features[i], split: values[i], missing: len(missing) > 0 && missing[i] != 0}
		if mode == treeLeaf {
			continue
		}
		y, yesOK := index[[2]int{trees[i], yes[i]}]
		o, noOK := index[[2]int{trees[i], no[i]}]
		if !yesOK || !noOK {
			return nil, c.Errorf("tree %d, node %d: it is followed by nodes %d and %d, of which one is not there", trees[i], ids[i], yes[i], no[i])
		}
		f.nodes[i].yes, f.nodes[i].no = y, o
	}
	return f, c.oldWeights(f, prefix, index)
}

// oldWeights reads what the leaves add, sorted by leaf.
func (c *Call) oldWeights(f *forest, prefix string, index map[[2]int]int) error {
	trees, ids, targets := c.Ints(prefix+"_treeids"), c.Ints(prefix+"_nodeids"), c.Ints(prefix+"_ids")
	values, err := c.floatsOf(prefix + "_weights")
	if err != nil {
		return err
	}
	for name, got := range map[string]int{"_nodeids": len(ids), "_ids": len(targets), "_weights": len(values)} {
		if err := c.sameLength(prefix+name, got, len(trees), false); err != nil {
			return err
		}
	}
	byNode := make([][]leafWeight, len(f.nodes))
	for i, t := range targets {
		at, ok := index[[2]int{trees[i], ids[i]}]
		if !ok {
			return c.Errorf("%s_nodeids: got node %d of tree %d, which is not there", prefix, ids[i], trees[i])
		}
		if t < 0 || t >= f.targets {
			return c.Errorf("%s_ids: got %d, want 0 to %d", prefix, t, f.targets-1)
		}
		byNode[at] = append(byNode[at], leafWeight{t, values[i]})
	}
	for i, ws := range byNode {
		f.nodes[i].first = len(f.weights)
		f.weights = append(f.weights, ws...)
		f.nodes[i].end = len(f.weights)
	}
	return nil
}

// newForest reads the attributes of TreeEnsemble, whose leaves stand apart: they
// follow the inner nodes in the forest.
func (c *Call) newForest() (*forest, error) {
	f := &forest{targets: c.IntOr("n_targets", 1)}
	if f.targets < 1 || f.targets > mostPad {
		return nil, c.Errorf("n_targets: got %d, want at least 1", f.targets)
	}
	splits, err := c.floatsOf("nodes_splits")
	if err != nil {
		return nil, err
	}
	var modes []int64
	if m := c.Tensor("nodes_modes"); m != nil {
		if modes, err = m.Int64s(); err != nil {
			return nil, c.Errorf("nodes_modes: %w", err)
		}
	}
	features, missing := c.Ints("nodes_featureids"), c.Ints("nodes_missing_value_tracks_true")
	n := len(features)
	for name, got := range map[string]int{"nodes_splits": len(splits), "nodes_modes": len(modes)} {
		if err := c.sameLength(name, got, n, false); err != nil {
			return nil, err
		}
	}
	if err := c.sameLength("nodes_missing_value_tracks_true", len(missing), n, true); err != nil {
		return nil, err
	}
	members, err := c.floatsOf("membership_values")
	if err != nil {
		return nil, err
	}
	sets := memberSets(members)
	for i := range n {
		if modes[i] < 0 || modes[i] > int64(treeMember) {
			return nil, c.Errorf("nodes_modes: got %d, want 0 to %d", modes[i], treeMember)
		}
		node := treeNode{mode: treeMode(modes[i]), feature: features[i], split: splits[i], missing: len(missing) > 0 && missing[i] != 0}
		if node.mode == treeMember {
			if len(sets) == 0 {
				return nil, c.Errorf("membership_values: got fewer sets than nodes that test membership")
			}
			node.members, sets = sets[0], sets[1:]
		}
		f.nodes = append(f.nodes, node)
	}
	return f, c.newLeaves(f)
}

// newLeaves adds the leaves of a TreeEnsemble, and links the nodes.
func (c *Call) newLeaves(f *forest) error {
	weights, err := c.floatsOf("leaf_weights")
	if err != nil {
		return err
	}
	targets := c.Ints("leaf_targetids")
	if err := c.sameLength("leaf_targetids", len(targets), len(weights), false); err != nil {
		return err
	}
	inner := len(f.nodes)
	for i, t := range targets {
		if t < 0 || t >= f.targets {
			return c.Errorf("leaf_targetids: got %d, want 0 to %d", t, f.targets-1)
		}
		f.nodes = append(f.nodes, treeNode{mode: treeLeaf, first: i, end: i + 1})
		f.weights = append(f.weights, leafWeight{t, weights[i]})
	}
	for _, side := range []string{"true", "false"} {
		ids, leafs := c.Ints("nodes_"+side+"nodeids"), c.Ints("nodes_"+side+"leafs")
		if len(ids) != inner || len(leafs) != inner {
			return c.Errorf("nodes_%snodeids and nodes_%sleafs: got %d and %d numbers, want %d", side, side, len(ids), len(leafs), inner)
		}
		for i, id := range ids {
			at, most := id, inner
			if leafs[i] != 0 {
				at, most = inner+id, len(targets)
			}
			if id < 0 || id >= most {
				return c.Errorf("nodes_%snodeids: got %d, want 0 to %d", side, id, most-1)
			}
			if side == "true" {
				f.nodes[i].yes = at
			} else {
				f.nodes[i].no = at
			}
		}
	}
	for _, r := range c.Ints("tree_roots") {
		if r < 0 || r >= inner {
			return c.Errorf("tree_roots: got %d, want 0 to %d", r, inner-1)
		}
		f.roots = append(f.roots, r)
	}
	return nil
}
