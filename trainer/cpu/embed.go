package cpu

import (
	"pretext/trainer"
	"pretext/trainer/dropout"
)

// embed sets a.x to drop(LN(word + position + segment)).
func (m *model[T]) embed(b *trainer.Batch) {
	h, p := m.c.HiddenSize, &m.p
	m.rows(b.Tokens(), h, func(lo, hi int) {
		for r := lo; r < hi; r++ {
			word, position, segment := int(b.IDs[r])*h, int(b.Positions[r])*h, int(b.Segments[r])*h
			row := m.a.o[r*h : (r+1)*h]
			copy(row, p.word.w[word:word+h])
			m.set.Add(row, p.position.w[position:position+h])
			m.set.Add(row, p.segment.w[segment:segment+h])
			m.normRow(r, row, &p.embedNorm, &m.a.embedded)
			x := m.a.x[r*h : (r+1)*h]
			copy(x, m.a.embedded.y[r*h:(r+1)*h])
			m.drop(b, x, r, dropout.At(dropout.Embeddings, 0))
		}
	})
}

// embedGrad adds the gradients of the embeddings, given a.dy, the gradient of
// a.x. Tokens are added in order; each thread handles a range of columns.
func (m *model[T]) embedGrad(b *trainer.Batch) {
	h, p, a, t := m.c.HiddenSize, &m.p, &m.a, b.Tokens()
	m.dropGrad(b, rowset{n: t}, a.do, a.dy, dropout.At(dropout.Embeddings, 0))
	m.normGrad(a.dz, a.do, t, &p.embedNorm, &a.embedded)
	m.columns(h, func(lo, hi int) {
		for r := range t {
			d := a.dz[r*h+lo : r*h+hi]
			m.set.Add(p.word.dw[int(b.IDs[r])*h+lo:], d)
			m.set.Add(p.position.dw[int(b.Positions[r])*h+lo:], d)
			m.set.Add(p.segment.dw[int(b.Segments[r])*h+lo:], d)
		}
	})
}
