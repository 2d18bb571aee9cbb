return {
	["gem-pro"] = {"Proto-Germanic", family = "gem"},
	["gmw-pro"] = {"Proto-West Germanic", family = "gmw"},
	["ine-pro"] = {"Proto-Indo-European", family = "ine"},
	["itc-pro"] = {"Proto-Italic", family = "itc"},
	["sla-pro"] = {"Proto-Slavic", family = "sla"},
}
