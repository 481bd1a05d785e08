package ir

// Journal holds the inverses of the edits made since it was opened. One that
// is open costs each edit a closure; without one an edit records nothing.
type Journal struct{ undo []func() }

func (j *Journal) add(f func()) { j.undo = append(j.undo, f) }

func (j *Journal) rollback(to int) {
	for len(j.undo) > to {
		f := j.undo[len(j.undo)-1]
		j.undo = j.undo[:len(j.undo)-1]
		f()
	}
}

func (m *Model) recording() *Journal {
	if m == nil {
		return nil
	}
	return m.journal
}

// Atomic runs f, and takes back every edit that f made to the model when f
// returns an error or panics. Calls nest.
func (m *Model) Atomic(f func() error) (err error) {
	outer := m.journal
	j := outer
	if j == nil {
		j = &Journal{}
	}
	mark := len(j.undo)
	m.journal = j
	done := false
	defer func() {
		m.journal = nil // an undo must not be recorded
		if !done || err != nil {
			j.rollback(mark)
		}
		m.journal = outer
	}()
	err = f()
	done = true
	return err
}

// set assigns v to *p and records the inverse.
func set[T any](m *Model, p *T, v T) {
	if j := m.recording(); j != nil {
		old := *p
		j.add(func() { *p = old })
	}
	*p = v
}
