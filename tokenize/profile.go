package tokenize

// A Profile names an implementation of BERT's tokenizer. It selects the rules
// in which the implementations differ, and is written to manifests.
//
//	                              google       nvidia-pt           hf
//	longest word, in characters   200          100                 100
//	deleted besides Cc and Cf     nothing      Co, Cn              Co
//	capital sigma at a word's end ς            ς                   σ
//	special token in the text     split        kept if it stands   kept anywhere
//	                                           between white space
//	Unicode                       15.0.0       15.0.0              mixed, see below
//
// On prose all three give the same ids, except for a final sigma, special tokens in the
// text, and words of more than 100 characters.
type Profile string

const (
	// ProfileGoogle follows tokenization.py of google-research/bert, the
	// reference.
	ProfileGoogle Profile = "google"

	// ProfileNVIDIA follows tokenization.py of BERT for PyTorch in
	// NVIDIA/DeepLearningExamples (BertTokenizer with max_len unset). Private
	// use and unassigned code points are deleted. A special token in the text
	// is kept if, after cleaning, it stands alone between white space,
	// ideographs or the ends of the text.
	ProfileNVIDIA Profile = "nvidia-pt"

	// ProfileHF follows BertTokenizerFast of Hugging Face (tokenizers 0.23.3,
	// without the special tokens that it adds around a text). The five special
	// tokens are kept anywhere in the text, case included, and separate the
	// text around them. Its tables mix several Unicode versions: newer accents
	// (Mn) and punctuation count as letters, lower case follows Unicode 17, and
	// U+2B820 to U+2B91F are not ideographs.
	ProfileHF Profile = "hf"
)

// Profiles lists all profiles, the default first.
func Profiles() []Profile { return []Profile{ProfileGoogle, ProfileNVIDIA, ProfileHF} }

// rules are the character tables that a [WordSplitter] needs for its profile and options.
type rules struct {
	classes    classTable
	lower      map[rune]string // lower-case forms that differ from mappingOf
	combining  map[rune]uint8  // Canonical_Combining_Classes that differ from combiningClass
	finalSigma bool            // whether a capital sigma at the end of a word becomes ς
}

// A classTable gives the class of every code point, in two stages: page maps a
// block of 256 code points to its page in pages. Equal pages are stored once.
type classTable struct {
	page  *[len(classPage)]uint8
	pages []uint8
}

func (t *classTable) of(r rune) class {
	return class(t.pages[int(t.page[uint32(r)>>8])<<8|int(r&0xff)])
}

// A classRange assigns a class to the code points from first to last.
type classRange struct {
	first, last rune
	class       class
	value       rune // lowerMap: the mapping, one code point; lowerReorder: the Canonical_Combining_Class
}

// combiningClass returns the Canonical_Combining_Class of c that the profile
// uses for canonical ordering.
func (r *rules) combiningClass(c rune) uint8 {
	if ccc, ok := r.combining[c]; ok {
		return ccc
	}
	return combiningClass(c)
}

// newRules returns the rules for valid options.
func newRules(o Options) *rules {
	r := &rules{classes: classTable{&classPage, classPages[:]}, finalSigma: o.Profile != ProfileHF}
	switch o.Profile {
	case ProfileNVIDIA:
		r.rebuild(func(int, uint8) bool { return false }, func(_ rune, was class) class {
			if was&sigmaMask == sigmaUnassigned {
				return kindRemove
			}
			return was
		})
	case ProfileHF:
		r.patch(hfClasses[:])
	}
	r.adapt(o)
	return r
}

// patch assigns the classes of ranges, which must ascend, to their code points.
func (r *rules) patch(ranges []classRange) {
	r.lower, r.combining = map[rune]string{}, map[rune]uint8{}
	skip := func(c rune) { // the ranges before c
		for len(ranges) > 0 && ranges[0].last < c {
			ranges = ranges[1:]
		}
	}
	patched := func(block int, _ uint8) bool {
		skip(rune(block << 8))
		return len(ranges) > 0 && ranges[0].first>>8 <= rune(block)
	}
	r.rebuild(patched, func(c rune, was class) class {
		skip(c)
		if len(ranges) == 0 || c < ranges[0].first {
			return was
		}
		r.note(c, ranges[0])
		return ranges[0].class
	})
}

// rebuild replaces the class of every code point by the result of change, which depends
// on the class alone, except in blocks of 256 code points of which single is true. It gets
// the number of a block and of its page. The code points of these blocks are in ascending
// order.
func (r *rules) rebuild(single func(block int, page uint8) bool, change func(c rune, was class) class) {
	page, pages := new([len(classPage)]uint8), []uint8(nil)
	known := map[[256]uint8]uint8{}
	var made [256]struct {
		ok   bool
		page uint8
	} // by the number of the page before, of blocks that are not single
	for i := range page {
		old := r.classes.page[i]
		alone := single(i, old)
		if !alone && made[old].ok {
			page[i] = made[old].page
			continue
		}
		var p [256]uint8
		for j := range p {
			c := rune(i<<8 | j)
			p[j] = uint8(change(c, r.classes.of(c)))
		}
		n, ok := known[p]
		if !ok {
			if len(known) > 0xff {
				panic("BUG: more than 256 pages of classes")
			}
			n = uint8(len(known))
			known[p] = n
			pages = append(pages, p[:]...)
		}
		page[i] = n
		if !alone {
			made[old].ok, made[old].page = true, n
		}
	}
	r.classes = classTable{page, pages}
}

// note stores the lower-case form or combining class of the code point c, if the range d
// has one.
func (r *rules) note(c rune, d classRange) {
	switch d.class & lowerMask {
	case lowerMap:
		r.lower[c] = string(d.value)
	case lowerReorder:
		r.combining[c] = uint8(d.value)
	}
}
