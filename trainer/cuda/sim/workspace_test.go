package sim

import (
	"math/rand/v2"
	"testing"
)

// TestAWorkspaceIsWholeAndSeparate multiplies with workspaces that a GPU would use beyond their
// end, or that other data lies in.
func TestAWorkspaceIsWholeAndSeparate(t *testing.T) {
	for _, n := range []int{1000, 200 << 10} {
		for _, c := range []struct {
			name string
			edit func(m *Matmul)
			want Kind // "": none
		}{
			{"right", func(*Matmul) {}, ""},
			{"none is planned", func(m *Matmul) { m.Workspace, m.WorkspaceSize = 0, 0 }, ""},
			{"null", func(m *Matmul) { m.Workspace = 0 }, BadMatmul},
			{"misaligned", func(m *Matmul) { m.Workspace, m.WorkspaceSize = m.Workspace.Add(16), 100 }, BadMatmul},
			{"half as large as planned", func(m *Matmul) { m.WorkspaceSize *= 2 }, OutOfBounds},
			{"a byte too small", func(m *Matmul) { m.WorkspaceSize++ }, OutOfBounds},
			{"it is A", func(m *Matmul) { m.Workspace, m.WorkspaceSize = m.A.At, 16 }, BadMatmul},
			{"it begins in B", func(m *Matmul) {
				m.B.At, m.WorkspaceSize = m.Workspace, m.WorkspaceSize-256
				m.Workspace = m.Workspace.Add(256)
				m.B.LD = 100
			}, BadMatmul},
			{"D ends in it", func(m *Matmul) {
				m.D.At, m.D.LD = m.Workspace, 60
				m.Workspace, m.WorkspaceSize = m.Workspace.Add(512), 256
			}, BadMatmul},
			{"it is the bias", func(m *Matmul) { m.Epilogue, m.Bias = Bias, m.Workspace }, BadMatmul},
		} {
			p := &products{t, New(Options{Seed: 5}), rand.New(rand.NewPCG(1, 1))}
			m := Matmul{Alpha: 1, WorkspaceSize: n}
			m.A, _ = p.matrix(4, 4, Float32, false)
			m.B, _ = p.matrix(4, 4, Float32, false)
			m.D, _ = p.matrix(4, 4, Float32, false)
			m.Workspace = Pointer(put(t, p.d, "workspace", make([]byte, n)))
			c.edit(&m)
			s := p.d.NewStream()
			s.Matmul(m)
			if err := s.Synchronize(); c.want == "" && err != nil || c.want != "" && !IsFault(err, c.want) {
				t.Errorf("%s, %d bytes: got %v, want %q", c.name, n, err, c.want)
			}
		}
	}
}

// TestAWorkspaceIsNotRead reads what was in a workspace before a product, by a copy and by a
// kernel, at both ends.
func TestAWorkspaceIsNotRead(t *testing.T) {
	const n = 100 << 10
	for _, at := range []int{0, n - 16} {
		for _, byKernel := range []bool{false, true} {
			p := &products{t, New(Options{}), rand.New(rand.NewPCG(1, 1))}
			m := Matmul{Alpha: 1, WorkspaceSize: n}
			m.A, _ = p.matrix(4, 4, Float32, false)
			m.B, _ = p.matrix(4, 4, Float32, false)
			m.D, _ = p.matrix(4, 4, Float32, false)
			m.Workspace = Pointer(put(t, p.d, "workspace", make([]byte, n)))
			s := p.d.NewStream()
			s.Matmul(m)
			if err := s.Synchronize(); err != nil {
				t.Fatal(err)
			}
			var err error
			if byKernel {
				err = launch(p.d, module(1, "ld.param.u64 %rd0, [p0];\nld.global.u32 %r0, [%rd0];"), Config{}, uint64(m.Workspace.Add(at)))
			} else {
				s.Copy(m.D.At, m.Workspace.Add(at), 16)
				err = s.Synchronize()
			}
			if !IsFault(err, Unwritten) {
				t.Errorf("byte %d, by a kernel: %t: %v", at, byKernel, err)
			}
			if err := p.d.Read(make([]byte, 16), m.Workspace.Add(at)); !IsFault(err, Unwritten) {
				t.Errorf("byte %d, by the host: %v", at, err)
			}
		}
	}
}

// TestTwoStreamsDoNotShareAWorkspace multiplies in two streams with one workspace.
func TestTwoStreamsDoNotShareAWorkspace(t *testing.T) {
	for _, size := range []int{256, 0} {
		p := &products{t, New(Options{}), rand.New(rand.NewPCG(1, 1))}
		workspace := Pointer(put(t, p.d, "workspace", make([]byte, 256)))
		for range 2 {
			m := Matmul{Alpha: 1, Workspace: workspace, WorkspaceSize: size}
			m.A, _ = p.matrix(4, 4, Float32, false)
			m.B, _ = p.matrix(4, 4, Float32, false)
			m.D, _ = p.matrix(4, 4, Float32, false)
			p.d.NewStream().Matmul(m)
		}
		if err := p.d.Synchronize(); size == 0 && err != nil || size > 0 && !IsFault(err, RaceInStreams) {
			t.Errorf("%d bytes: %v", size, err)
		}
	}
}
