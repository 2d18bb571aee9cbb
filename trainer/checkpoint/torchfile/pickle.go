package torchfile

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"unicode/utf8"
)

// Values on the stack are: nil, bool, int64, float64, string, []any (a tuple),
// *list, *dict, global, storage, *Tensor, and mark.
type (
	list   struct{ items []any }
	dict   struct{ keys, values []any }
	global string // module and name of a function or class, such as "torch.FloatStorage"
	mark   struct{}
)

// Functions and classes that a pickle may refer to, in addition to the
// storages.
const (
	rebuildTensor    = "torch._utils._rebuild_tensor_v2"
	rebuildParameter = "torch._utils._rebuild_parameter"
	orderedDict      = "collections.OrderedDict"
)

// errShort is the error of a truncated pickle.
var errShort = fmt.Errorf("the pickle ends early: %w", io.ErrUnexpectedEOF)

// A machine executes the instructions of a pickle on a stack of values.
type machine struct {
	code  []byte
	at    int
	stack []any
	memo  map[uint32]any
}

// unpickle returns the tensors of the dictionary in a pickle.
func unpickle(code []byte) ([]*Tensor, error) {
	m := &machine{code: code, memo: map[uint32]any{}}
	for {
		op, err := m.bytes(1)
		if err != nil {
			return nil, err
		}
		if op[0] == '.' { // STOP
			break
		}
		if err := m.step(op[0]); err != nil {
			return nil, fmt.Errorf("byte %d: %w", m.at, err)
		}
	}
	top, err := m.pop()
	if err != nil {
		return nil, err
	}
	return tensorsOf(top)
}

// tensorsOf returns the tensors of a state dictionary, with their names.
func tensorsOf(top any) ([]*Tensor, error) {
	d, ok := top.(*dict)
	if !ok {
		return nil, fmt.Errorf("%w: holds %s: save the dictionary of tensors alone, torch.save(model.state_dict(), FILE)", ErrFormat, describe(top))
	}
	var tensors []*Tensor
	var other []string
	seen := map[string]bool{}
	for i, key := range d.keys {
		name, ok := key.(string)
		if !ok {
			return nil, fmt.Errorf("a key of the dictionary is %s, not a name", describe(key))
		}
		if seen[name] {
			return nil, fmt.Errorf("the name %s appears twice in the dictionary", short(name))
		}
		seen[name] = true
		t, ok := d.values[i].(*Tensor)
		if !ok {
			if len(other) < maxNamed {
				other = append(other, short(name)+", "+describe(d.values[i]))
			}
			continue
		}
		named := *t // a copy: two names may share a tensor
		named.Name = name
		tensors = append(tensors, &named)
	}
	if len(tensors) == 0 {
		return nil, fmt.Errorf("%w: no tensors in its dictionary (it has %s): save the weights alone, torch.save(model.state_dict(), FILE)", ErrFormat,
			strings.Join(other, "; "))
	}
	return tensors, nil
}

// maxNamed is the maximum number of keys in an error message.
const maxNamed = 5

// short quotes a string from the file for an error message, truncated.
func short(s string) string {
	const most = 100
	if len(s) > most {
		return fmt.Sprintf("%q and so on", s[:most])
	}
	return fmt.Sprintf("%q", s)
}

// describe names the type of a value for an error message. It does not print
// the value, which may be nested to any depth.
func describe(v any) string {
	switch v := v.(type) {
	case *dict:
		return "a dictionary"
	case *list, []any:
		return "a list"
	case *Tensor:
		return "a single tensor"
	case global:
		return "the function " + string(v)
	case nil:
		return "nothing"
	}
	return fmt.Sprintf("a %T", v)
}

// step executes one instruction. The names are those of Python's pickletools.
func (m *machine) step(op byte) error {
	switch op {
	case 0x80: // PROTO
		_, err := m.bytes(1)
		return err
	case 0x95: // FRAME
		_, err := m.bytes(8)
		return err
	case '(': // MARK
		return m.push(mark{})
	case 'N': // NONE
		return m.push(nil)
	case 0x88, 0x89: // NEWTRUE, NEWFALSE
		return m.push(op == 0x88)
	case '}': // EMPTY_DICT
		return m.push(&dict{})
	case ']': // EMPTY_LIST
		return m.push(&list{})
	case ')': // EMPTY_TUPLE
		return m.push([]any{})
	case 'K', 'M', 'J', 0x8a, 'G': // BININT1, BININT2, BININT, LONG1, BINFLOAT
		return m.number(op)
	case 'X', 0x8c, 0x8d, 'U', 'T': // BINUNICODE, SHORT_BINUNICODE, BINUNICODE8, SHORT_BINSTRING, BINSTRING
		return m.text(op)
	case 'q', 'r', 0x94, 'h', 'j': // BINPUT, LONG_BINPUT, MEMOIZE, BINGET, LONG_BINGET
		return m.remember(op)
	case 't', 0x85, 0x86, 0x87: // TUPLE, TUPLE1, TUPLE2, TUPLE3
		return m.tuple(op)
	case 'a', 'e', 's', 'u': // APPEND, APPENDS, SETITEM, SETITEMS
		return m.fill(op)
	case 'c', 0x93: // GLOBAL, STACK_GLOBAL
		return m.global(op)
	case 'Q': // BINPERSID
		return m.storage()
	case 'R': // REDUCE
		return m.call()
	case 'b': // BUILD
		return m.build()
	}
	return fmt.Errorf("%w: instruction %#02x (%q), which no file of weights contains; no code was run", ErrFormat, op, op)
}

func (m *machine) push(v any) error {
	m.stack = append(m.stack, v)
	return nil
}

func (m *machine) pop() (any, error) {
	if len(m.stack) == 0 {
		return nil, errors.New("the pickle's stack is empty")
	}
	v := m.stack[len(m.stack)-1]
	m.stack = m.stack[:len(m.stack)-1]
	return v, nil
}

// popMark removes the last mark and the values above it, and returns the
// values.
func (m *machine) popMark() ([]any, error) {
	for i := len(m.stack) - 1; i >= 0; i-- {
		if _, ok := m.stack[i].(mark); ok {
			items := append([]any{}, m.stack[i+1:]...)
			m.stack = m.stack[:i]
			return items, nil
		}
	}
	return nil, errors.New("the pickle's stack has no mark")
}

// bytes returns the next n bytes of the code.
func (m *machine) bytes(n uint64) ([]byte, error) {
	if n > uint64(len(m.code)-m.at) {
		return nil, errShort
	}
	b := m.code[m.at : m.at+int(n)]
	m.at += int(n)
	return b, nil
}

// number pushes an integer or a float.
func (m *machine) number(op byte) error {
	size := map[byte]uint64{'K': 1, 'M': 2, 'J': 4, 0x8a: 1, 'G': 8}[op]
	b, err := m.bytes(size)
	if err != nil {
		return err
	}
	switch op {
	case 'K':
		return m.push(int64(b[0]))
	case 'M':
		return m.push(int64(binary.LittleEndian.Uint16(b)))
	case 'J':
		return m.push(int64(int32(binary.LittleEndian.Uint32(b))))
	case 'G':
		return m.push(math.Float64frombits(binary.BigEndian.Uint64(b)))
	}
	n := uint64(b[0]) // LONG1: two's complement with this many bytes
	if b, err = m.bytes(n); err != nil {
		return err
	}
	if n > 8 {
		return fmt.Errorf("an integer of %d bytes", n)
	}
	var v uint64
	for i, x := range b {
		v |= uint64(x) << (8 * i)
	}
	if n > 0 && n < 8 && b[n-1]&0x80 != 0 {
		v |= ^uint64(0) << (8 * n)
	}
	return m.push(int64(v))
}

// text pushes a string.
func (m *machine) text(op byte) error {
	width := map[byte]uint64{'X': 4, 0x8c: 1, 0x8d: 8, 'U': 1, 'T': 4}[op]
	b, err := m.bytes(width)
	if err != nil {
		return err
	}
	var n uint64
	for i, x := range b {
		n |= uint64(x) << (8 * i)
	}
	if b, err = m.bytes(n); err != nil {
		return err
	}
	if !utf8.Valid(b) {
		return errors.New("a string is not UTF-8")
	}
	return m.push(string(b))
}

// remember stores the top of the stack in the memo, or pushes a stored value.
func (m *machine) remember(op byte) error {
	key := uint32(len(m.memo)) // MEMOIZE
	if op != 0x94 {
		b, err := m.bytes(map[byte]uint64{'q': 1, 'r': 4, 'h': 1, 'j': 4}[op])
		if err != nil {
			return err
		}
		key = 0
		for i, x := range b {
			key |= uint32(x) << (8 * i)
		}
	}
	if op == 'h' || op == 'j' {
		v, ok := m.memo[key]
		if !ok {
			return fmt.Errorf("pickle memo: entry %d is read but was never set", key)
		}
		return m.push(v)
	}
	if len(m.stack) == 0 {
		return errors.New("the pickle's stack is empty")
	}
	m.memo[key] = m.stack[len(m.stack)-1]
	return nil
}

func (m *machine) tuple(op byte) error {
	if op == 't' {
		items, err := m.popMark()
		if err != nil {
			return err
		}
		return m.push(items)
	}
	n := int(op) - 0x84
	if len(m.stack) < n {
		return errors.New("the pickle's stack is empty")
	}
	items := append([]any{}, m.stack[len(m.stack)-n:]...)
	m.stack = m.stack[:len(m.stack)-n]
	return m.push(items)
}

// fill adds items to the list or dictionary below them on the stack: one item,
// or those above a mark.
func (m *machine) fill(op byte) error {
	var items []any
	var err error
	if op == 'e' || op == 'u' {
		items, err = m.popMark()
	} else {
		n := 1
		if op == 's' {
			n = 2
		}
		if len(m.stack) < n {
			return errors.New("the pickle's stack is empty")
		}
		items = append(items, m.stack[len(m.stack)-n:]...)
		m.stack = m.stack[:len(m.stack)-n]
	}
	if err != nil {
		return err
	}
	if len(m.stack) == 0 {
		return errors.New("the pickle's stack is empty")
	}
	switch to := m.stack[len(m.stack)-1].(type) {
	case *list:
		if op == 'a' || op == 'e' {
			to.items = append(to.items, items...)
			return nil
		}
	case *dict:
		if (op == 's' || op == 'u') && len(items)%2 == 0 {
			for i := 0; i < len(items); i += 2 {
				to.keys, to.values = append(to.keys, items[i]), append(to.values, items[i+1])
			}
			return nil
		}
	}
	return errors.New("items added to a value that is neither a list nor a dictionary")
}

// global pushes the name of a function or class. Names other than those that files of
// weights need are an error.
func (m *machine) global(op byte) error {
	var name string
	if op == 'c' {
		module, err := m.line()
		if err != nil {
			return err
		}
		if name, err = m.line(); err != nil {
			return err
		}
		name = module + "." + name
	} else {
		if len(m.stack) < 2 {
			return errors.New("the pickle's stack is empty")
		}
		module, ok := m.stack[len(m.stack)-2].(string)
		class, isText := m.stack[len(m.stack)-1].(string)
		if !ok || !isText {
			return errors.New("a function whose name is not a string")
		}
		m.stack = m.stack[:len(m.stack)-2]
		name = module + "." + class
	}
	kind, isStorage := strings.CutPrefix(name, "torch.")
	_, known := storageKinds[kind]
	switch {
	case name == rebuildTensor, name == rebuildParameter, name == orderedDict, isStorage && known:
		return m.push(global(name))
	}
	return fmt.Errorf("%w: loading it would run %s, which no file of weights needs; no code was run. "+
		"Save the weights alone, torch.save(model.state_dict(), FILE) or save_pretrained", ErrFormat, short(name))
}

// line returns the code up to the next line end.
func (m *machine) line() (string, error) {
	end := m.at
	for end < len(m.code) && m.code[end] != '\n' {
		end++
	}
	if end == len(m.code) {
		return "", errShort
	}
	s := string(m.code[m.at:end])
	m.at = end + 1
	return s, nil
}

// storage pops the reference to a storage, the tuple ("storage", class, key, location,
// elements), and pushes the storage.
func (m *machine) storage() error {
	v, err := m.pop()
	if err != nil {
		return err
	}
	id, ok := v.([]any)
	if !ok || len(id) < 5 || id[0] != any("storage") {
		return errors.New("a persistent id that is not a storage")
	}
	class, ok := id[1].(global)
	key, isText := id[2].(string)
	n, isInt := id[4].(int64)
	name, _ := strings.CutPrefix(string(class), "torch.")
	kind, known := storageKinds[name]
	if !ok || !isText || !isInt || !known || n < 0 {
		return errors.New("a storage lacks its class, key or size")
	}
	return m.push(storage{kind: kind, key: key, elements: n})
}

// call pops the arguments and a function that [machine.global] has allowed, and pushes
// the result.
func (m *machine) call() error {
	v, err := m.pop()
	if err != nil {
		return err
	}
	f, err := m.pop()
	if err != nil {
		return err
	}
	args, isTuple := v.([]any)
	name, isGlobal := f.(global)
	if !isTuple || !isGlobal {
		return errors.New("a call of a value that is not a function")
	}
	switch {
	case name == rebuildTensor:
		t, err := newTensor(args)
		if err != nil {
			return err
		}
		return m.push(t)
	case name == rebuildParameter && len(args) > 0:
		if _, ok := args[0].(*Tensor); ok {
			return m.push(args[0])
		}
	case name == orderedDict && len(args) == 0:
		return m.push(&dict{})
	}
	return fmt.Errorf("%w: it calls %q with arguments that torch.save never writes", ErrFormat, string(name))
}

// build implements BUILD, which sets attributes of an object. It pops and ignores
// those of a dictionary, such as a state dictionary's _metadata.
func (m *machine) build() error {
	if _, err := m.pop(); err != nil {
		return err
	}
	if len(m.stack) > 0 {
		if _, ok := m.stack[len(m.stack)-1].(*dict); ok {
			return nil
		}
	}
	return fmt.Errorf("%w: attributes of a value that is not a dictionary", ErrFormat)
}
