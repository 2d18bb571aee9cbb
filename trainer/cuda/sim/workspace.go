package sim

import "fmt"

// Limits of what a product writes to its workspace: all of a small one; of a large one the
// ends and a few places between, because a shadow of all of it would cost most of the time.
const (
	smallWorkspace  = 64 << 10
	workspaceEnd    = 4 << 10
	workspacePlaces = 8
)

// useWorkspace fills the workspace of m with NaN, because an algorithm of cuBLASLt may use all
// bytes that it was planned with. They count as never written afterwards. It returns a
// [*Fault] if the workspace is missing, misaligned, not allocated as a whole, overlaps an
// operand, or is in use by another stream.
func (d *Device) useWorkspace(m Matmul) error {
	n := m.WorkspaceSize
	if n == 0 {
		return nil
	}
	bad := func(kind Kind, format string, a ...any) error {
		return &Fault{Kind: kind, Kernel: "matmul", Detail: fmt.Sprintf(format, a...)}
	}
	at := uint64(m.Workspace)
	if at == 0 || at%256 != 0 {
		return bad(BadMatmul, "planned with %d bytes of workspace, which lies at %#x: want a multiple of 256", n, at)
	}
	if d.find(at, n) == nil {
		return bad(OutOfBounds, "workspace of %d bytes at %#x%s", n, at, d.nearest(at))
	}
	for name, x := range m.operands() {
		if first := uint64(x.At); first < at+uint64(n) && at < first+uint64(x.bytes()) {
			return bad(BadMatmul, "the workspace of %d bytes at %#x overlaps %s at %#x", n, at, name, first)
		}
	}
	if n <= smallWorkspace {
		return d.spoil(m.Workspace, n)
	}
	places := []int{0, n - workspaceEnd}
	for range workspacePlaces {
		places = append(places, d.order.IntN((n-workspaceEnd)/workspaceEnd)*workspaceEnd)
	}
	for _, p := range places {
		if err := d.spoil(m.Workspace.Add(p), workspaceEnd); err != nil {
			return err
		}
	}
	return nil
}

// spoil fills n bytes at p with NaN and makes reading them a fault.
func (d *Device) spoil(p Pointer, n int) error {
	b, err := d.bytes(p, n, writes, "workspace")
	if err != nil {
		return err
	}
	m := d.find(uint64(p), n)
	for _, cells := range m.pieces(int(uint64(p)-m.base), n) {
		for i := range cells {
			cells[i].flags = scratch
		}
	}
	for i := range b {
		b[i] = 0xff
	}
	return nil
}

// operands returns the matrices that m reads or writes, by name.
func (m *Matmul) operands() map[string]Matrix {
	all := map[string]Matrix{"A": m.A, "B": m.B, "D": m.D}
	if m.Beta != 0 {
		all["C"] = m.C
	}
	if m.Bias != 0 && m.Epilogue != None {
		bias := Matrix{At: m.Bias, Type: m.D.Type, Rows: m.D.Rows, Cols: 1}
		if m.Epilogue == BGradB {
			bias.Rows = m.D.Cols
		}
		all["Bias"] = bias
	}
	if m.Aux != 0 && m.Epilogue != None {
		all["Aux"] = Matrix{At: m.Aux, Type: m.D.Type, Rows: m.D.Rows, Cols: m.D.Cols, LD: m.AuxLD}
	}
	return all
}

// bytes returns the distance from the first element of x to the end of the last one.
func (x Matrix) bytes() int {
	lines, length := x.Cols, x.Rows
	if x.RowMajor {
		lines, length = length, lines
	}
	return ((lines-1)*x.LD + length) * x.Type.Size()
}
