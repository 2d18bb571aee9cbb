package main

import (
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"
	"sync"

	"pretext/trainer"
)

// A difference is how far a tensor is from its reference: the norm of the difference over
// the norm of the reference.
type difference struct {
	spec     trainer.TensorSpec
	relative float64
	head     int     // of a query, key or value, the head that differs most
	ofHead   float64 // its difference, by the typical norm of a head
}

// differences compares all tensors, the worst first. The gradient of a key's bias is 0 but
// for rounding, so it is measured by that of the query's bias beside it.
func differences(got, want tensors, specs []trainer.TensorSpec) []difference {
	all := make([]difference, len(specs))
	var wait sync.WaitGroup
	next := make(chan int)
	for range runtime.NumCPU() {
		wait.Go(func() {
			for i := range next {
				name := specs[i].Name
				scale := want[name]
				if strings.HasSuffix(name, "key.bias") {
					scale = want[strings.TrimSuffix(name, "key.bias")+"query.bias"]
				}
				d := difference{spec: specs[i], relative: relative(got[name], want[name], scale)}
				if strings.Contains(name, ".self.") && strings.HasSuffix(name, ".weight") {
					d.head, d.ofHead = worstHead(got[name], want[name], specs[i].Shape[1])
				}
				all[i] = d
			}
		})
	}
	for i := range specs {
		next <- i
	}
	close(next)
	wait.Wait()
	slices.SortStableFunc(all, func(a, b difference) int { return compareDown(a.relative, b.relative) })
	return all
}

// worstHead returns the head of a matrix (heads, 64, width) that differs most.
func worstHead(got, want []float32, width int) (head int, worst float64) {
	all := make([]float64, len(want)/width/tile)
	norm := 0.0
	for i, w := range want {
		d := float64(got[i]) - float64(w)
		all[i/width/tile] += d * d
		norm += float64(w) * float64(w)
	}
	for h, d := range all {
		e := math.Sqrt(d / norm * float64(len(all)))
		if math.IsNaN(e) {
			e = math.Inf(1)
		}
		if e > worst {
			head, worst = h, e
		}
	}
	return head, worst
}

func compareDown(a, b float64) int {
	switch {
	case a > b:
		return -1
	case a < b:
		return 1
	}
	return 0
}

// relative returns the norm of got − want over that of scale; infinity if one of them is
// not finite.
func relative(got, want, scale []float32) float64 {
	d, n := 0.0, 0.0
	for i, w := range want {
		v := float64(got[i]) - float64(w)
		d += v * v
	}
	for _, w := range scale {
		n += float64(w) * float64(w)
	}
	r := math.Sqrt(d / n)
	switch {
	case d == 0 && n == 0:
		return 0
	case math.IsNaN(r):
		return math.Inf(1)
	}
	return r
}

// tile is the number of rows and columns of a tile: that of the attention kernels, and a
// head's width.
const tile = 64

// where says in which part of a tensor the difference sits: the smallest range of tiles of
// rows, and of columns, that has 90 % of its squares; or that the matrix is transposed.
func where(got, want []float32, shape []int) string {
	rows, columns := shape[0], 1
	if len(shape) > 1 {
		columns = shape[1]
	}
	if rows == columns && transposed(got, want, rows) {
		return "the reference, transposed: a swapped layout"
	}
	byRow, byColumn := make([]float64, (rows+tile-1)/tile), make([]float64, (columns+tile-1)/tile)
	for i, w := range want {
		d := float64(got[i]) - float64(w)
		if math.IsNaN(d) || math.IsInf(d, 0) {
			return fmt.Sprintf("row %d, column %d is %v", i/columns, i%columns, got[i])
		}
		byRow[i/columns/tile] += d * d
		byColumn[i%columns/tile] += d * d
	}
	text := within("rows", byRow, rows)
	if columns > 1 {
		text += ", " + within("columns", byColumn, columns)
	}
	return text
}

// transposed reports whether got is closer to the transposed reference than to the
// reference.
func transposed(got, want []float32, n int) bool {
	plain, turned := 0.0, 0.0
	for i, g := range got {
		p, t := float64(g)-float64(want[i]), float64(g)-float64(want[i%n*n+i/n])
		plain, turned = plain+p*p, turned+t*t
	}
	return turned < plain/2
}

// within returns the smallest range of neighbouring tiles with 90 % of the squares.
func within(what string, squares []float64, n int) string {
	total := 0.0
	for _, s := range squares {
		total += s
	}
	first, last := 0, len(squares)
	for i := range squares {
		sum := 0.0
		for j := i; j < len(squares) && j-i < last-first; j++ {
			if sum += squares[j]; sum >= 0.9*total {
				first, last = i, j+1
				break
			}
		}
	}
	if last-first == len(squares) {
		return "all " + what
	}
	return fmt.Sprintf("%s %d to %d of %d", what, tile*first, min(tile*last, n)-1, n)
}

// A tokenRange is the part of a sequence with the largest difference.
type tokenRange struct {
	place
	error float64 // in units of the typical norm of a row
}

// worstRows compares the rows of two matrices (n, width), of which row i belongs to the
// tokens at(i). It returns the tile of tokens whose rows differ most, measured by the
// typical norm of a row, and the median of all tiles.
func worstRows(got, want []float32, width int, at func(row int) (place, bool)) (worst tokenRange, median float64) {
	type key struct{ sequence, tile int }
	type sums struct {
		difference, norm float64
		rows             int
	}
	tiles, all := map[key]*sums{}, sums{}
	for i := range len(want) / width {
		p, ok := at(i)
		if !ok {
			continue
		}
		k := key{p.sequence, p.first / tile}
		s := tiles[k]
		if s == nil {
			s = &sums{}
			tiles[k] = s
		}
		for j := i * width; j < (i+1)*width; j++ {
			d, w := float64(got[j])-float64(want[j]), float64(want[j])
			s.difference += d * d
			s.norm += w * w
		}
		s.rows++
	}
	for _, s := range tiles {
		all.norm, all.rows = all.norm+s.norm, all.rows+s.rows
	}
	typical := all.norm / float64(max(all.rows, 1))
	var list []float64
	for k, s := range tiles {
		e := math.Sqrt(s.difference / float64(s.rows) / typical)
		if math.IsNaN(e) {
			e = math.Inf(1)
		}
		list = append(list, e)
		if e > worst.error || e == worst.error && (k.sequence < worst.sequence || k.sequence == worst.sequence && k.tile*tile < worst.first) {
			worst = tokenRange{place{k.sequence, k.tile * tile, tile}, e}
		}
	}
	if len(list) == 0 {
		return worst, 0
	}
	slices.Sort(list)
	return worst, list[len(list)/2]
}
