return {gem = {name = "Germanic"}, gmw = {name = "West Germanic"}, gme = {name = "East Germanic"}, ine = {name = "Indo-European"}, itc = {name = "Italic"},
	roa = {name = "Romance"}, sla = {name = "Slavic"}, zle = {name = "East Slavic"}, inc = {name = "Indo-Aryan"}}
