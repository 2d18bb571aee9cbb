package tokenize

// A lowerRange is an entry of lowerRanges: every step-th code point from first
// to last is lower-cased by adding delta.
type lowerRange struct {
	first, last, step, delta rune
}

// adapt changes the rules for options that the class table does not cover: lower-casing
// without removing accents, removing accents without lower-casing, and not separating
// ideographs. The class table covers only text that is both lower-cased and stripped of
// accents, or neither.
func (r *rules) adapt(o Options) {
	strip := o.StripsAccents()
	if o.DoLowerCase == strip && o.ideographsAlone() {
		return
	}
	lower := map[rune]string{}
	action := func(_ rune, was class) class { return was } // keeps lowerMask
	switch {
	case o.DoLowerCase && !strip:
		action = r.lowerOnly(lower)
	case strip && !o.DoLowerCase:
		action = r.stripOnly(lower)
	default:
		lower = r.lower
	}
	var changing [256]bool // by the number of a page
	for i, c := range r.classes.pages {
		changing[i>>8] = changing[i>>8] || class(c)&lowerMask != lowerSame
	}
	r.rebuild(func(_ int, page uint8) bool { return changing[page] }, func(c rune, was class) class {
		if !o.ideographsAlone() && was&kindMask == kindCJK {
			was &^= kindMask // becomes kindKeep
		}
		return was&^lowerMask | action(c, was)&lowerMask
	})
	r.lower = lower
}

// lowerOnly is for tokenizers that lower-case and keep accents. The function that it returns
// gives the action for a character: lowerMap for one with a lower-case form, lowerSame for
// every other. lowerOnly fills lower: each such character is mapped to its lower-case form.
func (r *rules) lowerOnly(lower map[rune]string) func(c rune, was class) class {
	for _, pair := range lowerRanges {
		for c := pair.first; c <= pair.last; c += pair.step {
			lower[c] = string(c + pair.delta)
		}
	}
	lower['İ'] = "i\u0307" // the only character whose lower case has two characters
	for c, to := range r.lower {
		lower[c] = to // capitals of the profile that UnicodeVersion does not have yet
	}
	return func(c rune, was class) class {
		if _, ok := lower[c]; ok && was&lowerMask != lowerSame {
			return lowerMap
		}
		return lowerSame
	}
}

// stripOnly is for tokenizers that remove accents and keep case. The function that it
// returns gives the action for a character: lowerMap for a capital with an accent, lowerSame
// for another capital, and the class table's action (was) for everything else. stripOnly
// fills lower: each capital with an accent is mapped to the capital without it.
func (r *rules) stripOnly(lower map[rune]string) func(c rune, was class) class {
	capitals := map[rune]bool{}
	for _, pair := range lowerRanges {
		for c := pair.first; c <= pair.last; c += pair.step {
			capitals[c] = true
		}
	}
	for c := range r.lower {
		capitals[c] = true // see lowerOnly
	}
	pairs := []rune(strippedCapitals)
	for i := 0; i < len(pairs); i += 2 {
		lower[pairs[i]] = string(pairs[i+1])
	}
	return func(c rune, was class) class {
		if _, ok := lower[c]; ok {
			return lowerMap
		}
		if capitals[c] {
			return lowerSame
		}
		return was
	}
}
