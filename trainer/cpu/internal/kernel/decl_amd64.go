package kernel

// Implemented in simd_amd64.s, which gen.go writes.

//go:noescape
func microAVX2(k int, a, b, c *float32, ldc int, add bool)

//go:noescape
func microRowsAVX2(k int, a, b, c *float32, ldc int, add bool, lda int)

//go:noescape
func expSumAVX2(x *float32, n int, shift *float32, table *float32, sums *float32)

//go:noescape
func expSumsAVX2(sums, x, shift *float32, n int, table *float32)

//go:noescape
func expScaleAVX2(x, shift, by *float32, n int, table *float32, sums *float32)

//go:noescape
func addMaxAVX2(x, top *float32, n int, by *float32)

//go:noescape
func maxAVX2(x *float32, n int, top *float32)

//go:noescape
func geluAVX2(y, x *float32, n int, table *float32)

//go:noescape
func geluGradAVX2(y, x *float32, n int, table *float32)

//go:noescape
func erfGeluAVX2(y, x *float32, n int, table *float32)

//go:noescape
func erfGeluGradAVX2(y, x *float32, n int, table *float32)

//go:noescape
func adamAVX2(c, w, m, v, q *float32, n int, direction bool)

//go:noescape
func squaresAVX2(x *float32, n int, sums *float64)

//go:noescape
func microAVX512(k int, a, b, c *float32, ldc int, add bool)

//go:noescape
func microRowsAVX512(k int, a, b, c *float32, ldc int, add bool, lda int)

//go:noescape
func expSumAVX512(x *float32, n int, shift *float32, table *float32, sums *float32)

//go:noescape
func expSumsAVX512(sums, x, shift *float32, n int, table *float32)

//go:noescape
func expScaleAVX512(x, shift, by *float32, n int, table *float32, sums *float32)

//go:noescape
func addMaxAVX512(x, top *float32, n int, by *float32)

//go:noescape
func maxAVX512(x *float32, n int, top *float32)

//go:noescape
func geluAVX512(y, x *float32, n int, table *float32)

//go:noescape
func geluGradAVX512(y, x *float32, n int, table *float32)

//go:noescape
func erfGeluAVX512(y, x *float32, n int, table *float32)

//go:noescape
func erfGeluGradAVX512(y, x *float32, n int, table *float32)

//go:noescape
func adamAVX512(c, w, m, v, q *float32, n int, direction bool)

//go:noescape
func squaresAVX512(x *float32, n int, sums *float64)

//go:noescape
func addAVX2(x, y *float32, n int)

//go:noescape
func mulAddAVX2(x, y, z *float32, n int)

//go:noescape
func scaleAVX2(x *float32, n int, by *float32)

//go:noescape
func addAVX512(x, y *float32, n int)

//go:noescape
func mulAddAVX512(x, y, z *float32, n int)

//go:noescape
func scaleAVX512(x *float32, n int, by *float32)

//go:noescape
func transposeAVX2(dst *float32, dstStride int, src *float32, srcStride int, k int)

//go:noescape
func copyEightsAVX2(dst *float32, dstStride int, src *float32, srcStride int, k int)

//go:noescape
func copyPanelsAVX2(dst *float32, dstStride int, src *float32, srcStride int, k int)

//go:noescape
func copyPanelsAVX512(dst *float32, dstStride int, src *float32, srcStride int, k int)

//go:noescape
func sumAVX2(x *float32, n int, sums *float32)

//go:noescape
func dotAVX2(x, y *float32, n int, sums *float32)

//go:noescape
func centerAVX2(y, x *float32, n int, by, sums *float32)

//go:noescape
func affineAVX2(y, x, gain, bias *float32, n int, by *float32)

//go:noescape
func normSumsAVX2(dy, x, gain *float32, n int, sums *float32)

//go:noescape
func normGradAVX2(dx, dy, x, gain *float32, n int, c *float32)

//go:noescape
func softmaxGradAVX2(dp, p *float32, n int, c *float32)

//go:noescape
func sumAVX512(x *float32, n int, sums *float32)

//go:noescape
func dotAVX512(x, y *float32, n int, sums *float32)

//go:noescape
func centerAVX512(y, x *float32, n int, by, sums *float32)

//go:noescape
func affineAVX512(y, x, gain, bias *float32, n int, by *float32)

//go:noescape
func normSumsAVX512(dy, x, gain *float32, n int, sums *float32)

//go:noescape
func normGradAVX512(dx, dy, x, gain *float32, n int, c *float32)

//go:noescape
func softmaxGradAVX512(dp, p *float32, n int, c *float32)
