package ir

import (
	"errors"
	"fmt"
	"slices"
)

// journal holds the inverses of edits, oldest first. The edit of an edge, which
// is by far the most frequent one, is a plain record; what is rare is a function.
type journal struct {
	segments [][]record
	first    uint64 // position of the first record of segments[0]
	marks    []mark // by position
	bytes    int64  // of all marks
	lastID   uint64
	atomic   int // calls of Atomic that run
	floor    int // marks that were there when the innermost of them began
}

// record is the inverse of one edit: do, or moving the edge use back to old,
// after the edge prev of its list.
type record struct {
	use  *Use
	old  *Tensor
	prev *Use
	do   func()
}

// mark is a position between records: where an entry of the history begins, or
// a checkpoint.
type mark struct {
	id    uint64
	at    uint64 // records before it
	label string // of an entry, "" for a checkpoint
	bytes int64  // of the values that the entry's records alone keep alive
}

const (
	segmentSize = 4096
	// keptRecords and keptBytes bound what the history keeps of old entries.
	keptRecords = 1 << 20
	keptBytes   = 256 << 20
)

// Checkpoint is a state of a model that Rollback returns to.
type Checkpoint struct {
	model *Model
	id    uint64
}

// Model returns the model whose state it is.
func (c Checkpoint) Model() *Model { return c.model }

// Entry is one edit of the history.
type Entry struct{ Label string }

// Record turns the journal on or off; off forgets the history. It is off in a
// new model: an edit then records nothing.
func (m *Model) Record(on bool) {
	switch {
	case !on:
		m.journal = nil
	case m.journal == nil:
		m.journal = &journal{}
	}
}

// Recording reports whether the journal is on.
func (m *Model) Recording() bool { return m.journal != nil }

// BeginEntry makes the edits that follow one entry of the history, and returns
// the state before it. It turns the journal on. Old entries are forgotten when
// there are very many, back to the oldest checkpoint.
func (m *Model) BeginEntry(label string) Checkpoint {
	m.Record(true)
	m.journal.trim()
	if m.journal.atomic > 0 {
		label = "" // what a pass calls edits as a part of the pass
	}
	return Checkpoint{m, m.journal.mark(label)}
}

// Cancel is Rollback to the state before an entry, which leaves the history.
func (m *Model) Cancel(c Checkpoint) error {
	if err := m.rollbackTo(c); err != nil {
		return err
	}
	m.journal.cut(len(m.journal.marks) - 1)
	return nil
}

// Checkpoint returns the present state. It turns the journal on.
func (m *Model) Checkpoint() Checkpoint {
	m.Record(true)
	return Checkpoint{m, m.journal.mark("")}
}

// Rollback takes back every edit made since the checkpoint, which stays valid.
func (m *Model) Rollback(c Checkpoint) error {
	if m.journal != nil && m.journal.atomic > 0 {
		return errRunning
	}
	return m.rollbackTo(c)
}

// rollbackTo goes back to a checkpoint, which must not be older than a call of
// Atomic that runs.
func (m *Model) rollbackTo(c Checkpoint) error {
	if c.model != m || m.journal == nil {
		return fmt.Errorf("the checkpoint is of another model")
	}
	i := m.journal.find(c.id)
	switch {
	case m.journal.atomic > 0 && i < m.journal.floor:
		return errRunning
	case i < 0:
		return fmt.Errorf("the model is older than the checkpoint: a rollback or undo went behind it")
	}
	m.rollback(m.journal.marks[i].at)
	m.journal.cut(i + 1)
	return nil
}

// History returns the entries that Undo can take back, the oldest first.
func (m *Model) History() []Entry {
	var out []Entry
	if j := m.journal; j != nil {
		end := j.end()
		for _, k := range slices.Backward(j.marks) {
			if k.label != "" && k.at < end { // else an edit that failed
				out = append(out, Entry{k.label})
			}
			end = k.at
		}
	}
	slices.Reverse(out)
	return out
}

// errRunning forbids to go behind the beginning of a call of Atomic from inside.
var errRunning = errors.New("the model can't go back while a pass over it runs")

// Undo takes back the last n entries, or all when there are fewer, and returns
// how many it took back. Checkpoints between them are gone.
func (m *Model) Undo(n int) (done int, err error) {
	if m.journal != nil && m.journal.atomic > 0 {
		return 0, errRunning
	}
	for j := m.journal; j != nil && done < n && len(j.marks) > 0; {
		last := j.marks[len(j.marks)-1]
		j.cut(len(j.marks) - 1)
		if last.label != "" && last.at < j.end() {
			m.rollback(last.at)
			done++
		}
	}
	return done, nil
}

// Atomic runs f, and takes back every edit that f made to the model when f
// returns an error or panics. Calls nest.
func (m *Model) Atomic(f func() error) (err error) {
	outer := m.journal
	m.Record(true)
	j := m.journal
	to, marks := j.end(), len(j.marks)
	j.atomic++
	floor := j.floor
	j.floor = marks
	done := false
	defer func() {
		j.atomic--
		j.floor = floor
		if !done || err != nil {
			m.rollback(to)
			j.cut(min(marks, len(j.marks)))
		}
		j.join(marks)
		m.journal = outer
	}()
	err = f()
	done = true
	return err
}

// rollback takes back the edits after a position.
func (m *Model) rollback(to uint64) {
	j := m.journal
	m.journal = nil // an undo is not recorded
	defer func() { m.journal = j }()
	j.rollback(to)
}

// Logged records the inverse of an edit that the caller made to what the model
// holds besides its structure: the elements of a constant, say, of which it
// keeps bytes alive.
func (m *Model) Logged(bytes int64, undo func()) {
	if j := m.recording(); j != nil {
		j.add(undo)
		j.weigh(bytes)
	}
}

func (m *Model) recording() *journal {
	if m == nil {
		return nil
	}
	return m.journal
}

func (j *journal) end() uint64 {
	if len(j.segments) == 0 {
		return j.first
	}
	n := len(j.segments) - 1
	return j.first + uint64(n*segmentSize+len(j.segments[n]))
}

func (j *journal) add(f func()) { j.push(record{do: f}) }

func (j *journal) push(r record) {
	n := len(j.segments) - 1
	if n < 0 || len(j.segments[n]) == segmentSize {
		size := segmentSize
		if n < 0 {
			size = 16 // most journals are short
		}
		j.segments = append(j.segments, make([]record, 0, size))
		n++
	}
	j.segments[n] = append(j.segments[n], r)
}

// weigh adds to what the last entry keeps alive.
func (j *journal) weigh(bytes int64) {
	if len(j.marks) > 0 {
		j.marks[len(j.marks)-1].bytes += bytes
		j.bytes += bytes
	}
}

func (j *journal) mark(label string) uint64 {
	j.lastID++
	if len(j.marks) == cap(j.marks) {
		j.marks = slices.Grow(j.marks, max(16, len(j.marks))) // doubled: there is one for each call of a script
	}
	j.marks = append(j.marks, mark{id: j.lastID, at: j.end(), label: label})
	return j.lastID
}

// find returns the place of a mark, or -1; the latest are looked at first.
func (j *journal) find(id uint64) int {
	for i, k := range slices.Backward(j.marks) {
		if k.id == id {
			return i
		}
	}
	return -1
}

// cut forgets all marks but the first n.
func (j *journal) cut(n int) {
	for _, k := range j.marks[n:] {
		j.bytes -= k.bytes
	}
	j.marks = j.marks[:n]
}

// join makes what follows the first n marks a part of the last of these.
func (j *journal) join(n int) {
	var bytes int64
	for _, k := range j.marks[min(n, len(j.marks)):] {
		bytes += k.bytes
	}
	j.cut(min(n, len(j.marks)))
	j.weigh(bytes)
}

func (j *journal) rollback(to uint64) {
	for j.end() > to {
		n := len(j.segments) - 1
		seg := j.segments[n]
		for len(seg) > 0 && j.first+uint64(n*segmentSize+len(seg)) > to {
			r := seg[len(seg)-1]
			seg[len(seg)-1] = record{}
			seg = seg[:len(seg)-1]
			if r.do != nil {
				r.do()
			} else {
				r.use.link(r.old, r.prev)
			}
		}
		j.segments[n] = seg
		if len(seg) == 0 {
			j.segments = j.segments[:n]
		}
	}
}

// trim forgets the oldest entries while there is too much of them. A rollback
// that may come needs what lies behind its checkpoint.
func (j *journal) trim() {
	if j.atomic > 0 {
		return
	}
	drop, end := 0, j.end()
	for drop < len(j.marks) && j.marks[drop].label != "" && (j.bytes > keptBytes || end-j.marks[drop].at > keptRecords) {
		j.bytes -= j.marks[drop].bytes
		drop++
	}
	if drop == 0 {
		return
	}
	clear(j.marks[:drop])
	j.marks = j.marks[drop:]
	keep := end
	if len(j.marks) > 0 {
		keep = j.marks[0].at
	}
	whole := min(int(keep-j.first)/segmentSize, len(j.segments))
	clear(j.segments[:whole])
	j.segments = j.segments[whole:]
	j.first += uint64(whole * segmentSize)
}

// set assigns v to *p and records the inverse.
func set[T any](m *Model, p *T, v T) {
	if j := m.recording(); j != nil {
		old := *p
		j.add(func() { *p = old })
	}
	*p = v
}
