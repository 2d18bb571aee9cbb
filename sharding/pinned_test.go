package sharding

// Computed from the descriptions in docs/file-format.md by a program of its own, in
// another language.
var pinnedPlan = [][]int{{0, 1, 4, 9}, {3, 5, 10, 11}, {2, 6, 7, 8}}

var pinnedHeldOut = map[string]bool{"enwiki:12": false, "enwiki:25": true, "enwiki:39": false, "books:a.txt": false, "text:0": false, "enwiki:290": false, "enwiki:303": false, "enwiki:305": false, "0": false, "1": false, "2": false, "3": false, "4": false, "5": false, "6": false, "7": false}
