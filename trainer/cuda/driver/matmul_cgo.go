//go:build cgo && linux

package driver

// #include "gpu.h"
import "C"

import (
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"unsafe"

	"pretext/trainer/cuda/device"
)

// A product is a planned matrix product: its shape, descriptors and algorithm.
type product struct {
	c     C.pt_product
	shape device.Matmul
}

// String describes the product for error messages.
func (p *product) String() string {
	m := p.shape
	return fmt.Sprintf("%d×%d · %d×%d, type %d to %d, epilogue %d", m.M, m.K, m.K, m.N, m.Type, m.Result, m.Epilogue)
}

// alignment is the alignment of all operands of products in bytes, which
// device.Operands requires.
const alignment = 16

// anAddress replaces the addresses of the bias and of the auxiliary matrix while an
// algorithm is chosen, because they are not known yet. It is aligned to alignment
// but not to twice that.
const anAddress = 1<<20 | alignment

var dataTypes = map[device.DataType]C.cudaDataType{device.Float32: C.CUDA_R_32F, device.BFloat16: C.CUDA_R_16BF, device.Float16: C.CUDA_R_16F,
	device.Float8E4M3: C.CUDA_R_8F_E4M3, device.Float8E5M2: C.CUDA_R_8F_E5M2}

var epilogues = map[device.Epilogue]uint64{
	device.None: C.CUBLASLT_EPILOGUE_DEFAULT, device.Bias: C.CUBLASLT_EPILOGUE_BIAS, device.GELUAuxBias: C.CUBLASLT_EPILOGUE_GELU_AUX_BIAS,
	device.DGELU: C.CUBLASLT_EPILOGUE_DGELU, device.DGELUBGrad: C.CUBLASLT_EPILOGUE_DGELU_BGRAD,
	device.BGradA: C.CUBLASLT_EPILOGUE_BGRADA, device.BGradB: C.CUBLASLT_EPILOGUE_BGRADB,
}

// hasBias reports whether epilogue e needs the operand Bias.
func hasBias(e device.Epilogue) bool { return e != device.None && e != device.DGELU }

// hasAux reports whether epilogue e needs the operand Aux.
func hasAux(e device.Epilogue) bool {
	return e == device.GELUAuxBias || e == device.DGELU || e == device.DGELUBGrad
}

// Plan prepares matrix products of one shape, with at most workspace bytes of extra
// memory. It uses algorithm, a result of [gpu.Algorithm], if that fits. Sums are in
// single precision, without TF32.
func (g *gpu) Plan(m device.Matmul, workspace int, algorithm string) (device.Product, error) {
	p := &product{shape: m}
	err := g.prepare(p)
	if err == nil && !p.reuse(g, workspace, algorithm) {
		err = p.choose(g, workspace)
	}
	if err != nil {
		_ = g.discard(p) // the first error counts
		return 0, fmt.Errorf("plan the product %s, with %d bytes of workspace: %w", p, workspace, err)
	}
	g.planned++
	g.products[g.planned] = p
	return g.planned, nil
}

// prepare creates the cuBLASLt descriptors of p.
func (g *gpu) prepare(p *product) error {
	m := p.shape
	if err := g.lt("cublasLtMatmulDescCreate", C.pt_cublasLtMatmulDescCreate(g.c, &p.c.desc, C.CUBLAS_COMPUTE_32F, C.CUDA_R_32F)); err != nil {
		return err
	}
	p.c.handle = g.blas
	a, b := stored(m.M, m.K, m.TransA), stored(m.K, m.N, m.TransB)
	for _, l := range []struct {
		layout *C.cublasLtMatrixLayout_t
		typ    device.DataType
		shape  [2]int
		ld     int
	}{
		{&p.c.a, m.Type, a, m.LDA},
		{&p.c.b, m.B(), b, m.LDB},
		{&p.c.d, m.Result, [2]int{m.M, m.N}, m.LDD},
	} {
		if err := g.lt("cublasLtMatrixLayoutCreate", C.pt_cublasLtMatrixLayoutCreate(g.c, l.layout, dataTypes[l.typ], C.uint64_t(l.shape[0]), C.uint64_t(l.shape[1]), C.int64_t(l.ld))); err != nil {
			return err
		}
	}
	attributes := []attribute{
		{C.CUBLASLT_MATMUL_DESC_TRANSA, operation(m.TransA), 4},
		{C.CUBLASLT_MATMUL_DESC_TRANSB, operation(m.TransB), 4},
		{C.CUBLASLT_MATMUL_DESC_EPILOGUE, epilogues[m.Epilogue], 4},
	}
	if hasAux(m.Epilogue) {
		attributes = append(attributes, attribute{C.CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, uint64(m.AuxLD), 8})
	}
	for _, a := range attributes {
		if err := g.set(p, a); err != nil {
			return err
		}
	}
	if err := g.factors(p, device.Operands{ScaleA: anAddress, ScaleB: anAddress}); err != nil {
		return err
	}
	return g.vectors(p, anAddress, anAddress)
}

// stored returns the rows and columns of a matrix in memory. rows and cols are
// those of the operand, which is the transposed matrix if trans is set.
func stored(rows, cols int, trans bool) [2]int {
	if trans {
		return [2]int{cols, rows}
	}
	return [2]int{rows, cols}
}

// An attribute is an attribute of a cuBLASLt descriptor, a number of 4 or 8 bytes.
type attribute struct {
	name  C.cublasLtMatmulDescAttributes_t
	value uint64
	bytes C.size_t
}

// set sets attribute a of p's descriptor. All machines with CUDA are little-endian,
// so the first 4 bytes of the 8-byte value are the value as a 4-byte number.
func (g *gpu) set(p *product, a attribute) error {
	return g.lt("cublasLtMatmulDescSetAttribute", C.pt_cublasLtMatmulDescSetAttribute(g.c, p.c.desc, a.name, unsafe.Pointer(&a.value), a.bytes))
}

// vectors sets the addresses of the bias and of the auxiliary matrix, if the
// epilogue of p needs them.
func (g *gpu) vectors(p *product, bias, aux device.Pointer) error {
	if hasBias(p.shape.Epilogue) {
		if err := g.set(p, attribute{C.CUBLASLT_MATMUL_DESC_BIAS_POINTER, uint64(bias), 8}); err != nil {
			return err
		}
	}
	if hasAux(p.shape.Epilogue) {
		return g.set(p, attribute{C.CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, uint64(aux), 8})
	}
	return nil
}

// factors sets the addresses of the factors of 8-bit operands.
func (g *gpu) factors(p *product, x device.Operands) error {
	if !p.shape.Type.Eight() {
		return nil
	}
	if err := g.set(p, attribute{C.CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, uint64(x.ScaleA), 8}); err != nil {
		return err
	}
	return g.set(p, attribute{C.CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, uint64(x.ScaleB), 8})
}

func operation(trans bool) uint64 {
	if trans {
		return C.CUBLAS_OP_T
	}
	return C.CUBLAS_OP_N
}

// heuristics is the number of algorithms that proposals requests from cuBLASLt.
// cuBLASLt returns them by rising expected time.
const heuristics = 8

// choose sets the algorithm of p to the first proposal of cuBLASLt.
func (p *product) choose(g *gpu, workspace int) error {
	all, err := p.proposals(g, workspace)
	if err != nil {
		return err
	}
	p.c.algorithm, p.c.workspace = all[0].algo, all[0].workspaceSize
	return nil
}

// Algorithms returns cuBLASLt's proposals for products of one shape, for Plan.
func (g *gpu) Algorithms(m device.Matmul, workspace int) ([]string, error) {
	p := &product{shape: m}
	err := g.prepare(p)
	var list []string
	if err == nil {
		var all []C.cublasLtMatmulHeuristicResult_t
		all, err = p.proposals(g, workspace)
		for _, r := range all {
			list = append(list, text(g, r.algo))
		}
	}
	if err = errors.Join(err, g.discard(p)); err != nil {
		return nil, fmt.Errorf("algorithms for the product %s, with %d bytes of workspace: %w", p, workspace, err)
	}
	return list, nil
}

// proposals returns the algorithms that cuBLASLt proposes for p and that need at most
// workspace bytes, at least one.
func (p *product) proposals(g *gpu, workspace int) ([]C.cublasLtMatmulHeuristicResult_t, error) {
	var preference C.cublasLtMatmulPreference_t
	if err := g.lt("cublasLtMatmulPreferenceCreate", C.pt_cublasLtMatmulPreferenceCreate(g.c, &preference)); err != nil {
		return nil, err
	}
	defer C.pt_cublasLtMatmulPreferenceDestroy(g.c, preference)
	bytes, aligned := uint64(workspace), uint32(alignment)
	for _, a := range []struct {
		attribute C.cublasLtMatmulPreferenceAttributes_t
		value     unsafe.Pointer
		bytes     C.size_t
	}{
		{C.CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, unsafe.Pointer(&bytes), 8},
		{C.CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, unsafe.Pointer(&aligned), 4},
		{C.CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, unsafe.Pointer(&aligned), 4},
		{C.CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, unsafe.Pointer(&aligned), 4},
		{C.CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, unsafe.Pointer(&aligned), 4},
	} {
		if err := g.lt("cublasLtMatmulPreferenceSetAttribute", C.pt_cublasLtMatmulPreferenceSetAttribute(g.c, preference, a.attribute, a.value, a.bytes)); err != nil {
			return nil, err
		}
	}
	var results [heuristics]C.cublasLtMatmulHeuristicResult_t
	var found C.int
	if err := g.lt("cublasLtMatmulAlgoGetHeuristic", C.pt_cublasLtMatmulAlgoGetHeuristic(g.c, g.blas, p.c.desc, p.c.a, p.c.b, p.c.d, p.c.d, preference, heuristics, &results[0], &found)); err != nil {
		return nil, err
	}
	var all []C.cublasLtMatmulHeuristicResult_t
	for _, r := range results[:min(int(found), heuristics)] {
		if r.state == C.CUBLAS_STATUS_SUCCESS && int(r.workspaceSize) <= workspace {
			all = append(all, r)
		}
	}
	if len(all) == 0 {
		return nil, errors.New("cuBLASLt has no algorithm for this product")
	}
	return all, nil
}

// reuse sets the algorithm of p to one that [gpu.Algorithm] returned earlier. It
// returns false if that was on another GPU model or version of cuBLASLt, or if
// cuBLASLt does not accept it for this product and workspace.
func (p *product) reuse(g *gpu, workspace int, algorithm string) bool {
	text, ok := strings.CutPrefix(algorithm, g.origin())
	bytes, err := hex.DecodeString(text)
	if !ok || err != nil || len(bytes) != C.sizeof_cublasLtMatmulAlgo_t {
		return false
	}
	var a C.cublasLtMatmulAlgo_t
	copy(unsafe.Slice((*byte)(unsafe.Pointer(&a)), C.sizeof_cublasLtMatmulAlgo_t), bytes)
	var result C.cublasLtMatmulHeuristicResult_t
	if C.pt_cublasLtMatmulAlgoCheck(g.c, g.blas, p.c.desc, p.c.a, p.c.b, p.c.d, p.c.d, &a, &result) != C.CUBLAS_STATUS_SUCCESS || int(result.workspaceSize) > workspace {
		return false
	}
	p.c.algorithm, p.c.workspace = a, result.workspaceSize
	return true
}

// origin returns the prefix of algorithm texts: GPU model and cuBLASLt version. The
// bytes of an algorithm are valid only for these two.
func (g *gpu) origin() string { return g.properties.Name + "; " + g.properties.BLAS + "; " }

// Algorithm returns the algorithm that Plan chose as text: GPU model, cuBLASLt
// version, and cuBLASLt's 64 bytes in hexadecimal.
func (g *gpu) Algorithm(p device.Product) string { return text(g, g.product(p).c.algorithm) }

func text(g *gpu, a C.cublasLtMatmulAlgo_t) string {
	return g.origin() + hex.EncodeToString(C.GoBytes(unsafe.Pointer(&a), C.sizeof_cublasLtMatmulAlgo_t))
}

func (g *gpu) product(p device.Product) *product {
	known, ok := g.products[p]
	if !ok {
		panic(fmt.Sprintf("BUG: product %d was not planned here, or is freed", p))
	}
	return known
}

// FreeProduct frees the plan of a product.
func (g *gpu) FreeProduct(p device.Product) error {
	known := g.product(p)
	delete(g.products, p)
	return g.discard(known)
}

// discard destroys those cuBLASLt descriptors of p that were created.
func (g *gpu) discard(p *product) error {
	var errs []error
	for _, layout := range []C.cublasLtMatrixLayout_t{p.c.a, p.c.b, p.c.d} {
		if layout != nil {
			errs = append(errs, g.lt("cublasLtMatrixLayoutDestroy", C.pt_cublasLtMatrixLayoutDestroy(g.c, layout)))
		}
	}
	if p.c.desc != nil {
		errs = append(errs, g.lt("cublasLtMatmulDescDestroy", C.pt_cublasLtMatmulDescDestroy(g.c, p.c.desc)))
	}
	return errors.Join(errs...)
}

// Matmul queues the planned product p in stream s with operands x.
func (g *gpu) Matmul(s device.Stream, p device.Product, x device.Operands) error {
	known := g.product(p)
	if x.C == 0 {
		x.C = x.D
	}
	g.operands = C.pt_operands{
		a: C.CUdeviceptr(x.A), b: C.CUdeviceptr(x.B), c: C.CUdeviceptr(x.C), d: C.CUdeviceptr(x.D), workspace: C.CUdeviceptr(x.Workspace),
		alpha: C.float(x.Alpha), beta: C.float(x.Beta), stream: C.uintptr_t(uintptr(g.stream(s))),
	}
	err := missing(known.shape, x)
	if err == nil {
		err = g.factors(known, x)
	}
	if err == nil {
		err = g.vectors(known, x.Bias, x.Aux)
	}
	if err == nil {
		err = g.lt("cublasLtMatmul", C.pt_matmul(g.c, &known.c, &g.operands))
	}
	if err != nil {
		return fmt.Errorf("product %s: %w", known, err)
	}
	return nil
}

// missing returns an error if x lacks an operand that a product of shape m needs. Without
// this check, cuBLASLt would use the operand of an earlier call.
func missing(m device.Matmul, x device.Operands) error {
	switch e := m.Epilogue; {
	case m.Type.Eight() && (x.ScaleA == 0 || x.ScaleB == 0):
		return errors.New("no factor was given for an 8-bit operand")
	case hasBias(e) && x.Bias == 0:
		return errors.New("no bias was given")
	case hasAux(e) && x.Aux == 0:
		return errors.New("no auxiliary matrix was given")
	}
	return nil
}
