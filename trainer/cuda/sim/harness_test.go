package sim

import (
	"encoding/binary"
	"fmt"
	"strings"
	"testing"
)

// module wraps the body of a kernel k whose parameters are 64 bits each: p0, p1, …
func module(params int, body string) string {
	list := make([]string, params)
	for i := range list {
		list[i] = fmt.Sprintf(".param .b64 p%d", i)
	}
	return ".version 8.1\n.target sm_80\n.address_size 64\n.extern .shared .align 16 .b8 dynamic[];\n.visible .entry k(" + strings.Join(list, ",") +
		")\n{\n.reg .pred %p<8>;\n.reg .b32 %r<40>;\n.reg .b64 %rd<20>;\n" + body + "\nret;\n}\n"
}

// launch runs the kernel k of a module on arguments of 64 bits.
func launch(d *Device, text string, c Config, args ...uint64) error {
	m, err := d.Load(text)
	if err != nil {
		return err
	}
	k, err := m.Kernel("k")
	if err != nil {
		return err
	}
	return d.Launch(k, c, flat(args))
}

func flat(args []uint64) []byte {
	b := []byte{}
	for _, a := range args {
		b = binary.LittleEndian.AppendUint64(b, a)
	}
	return b
}

func alloc(t *testing.T, d *Device, name string, n int) uint64 {
	t.Helper()
	p, err := d.Alloc(name, n)
	if err != nil {
		t.Fatal(err)
	}
	return uint64(p)
}

func put(t *testing.T, d *Device, name string, values any) uint64 {
	t.Helper()
	b, err := binary.Append(nil, binary.LittleEndian, values)
	if err != nil {
		t.Fatal(err)
	}
	p := alloc(t, d, name, len(b))
	if err := d.Write(Pointer(p), b); err != nil {
		t.Fatal(err)
	}
	return p
}

func get[T any](t *testing.T, d *Device, p uint64, n int) []T {
	t.Helper()
	out := make([]T, n)
	b := make([]byte, binary.Size(out))
	if err := d.Read(b, Pointer(p)); err != nil {
		t.Fatal(err)
	}
	if _, err := binary.Decode(b, binary.LittleEndian, out); err != nil {
		t.Fatal(err)
	}
	return out
}
