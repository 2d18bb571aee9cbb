return {goh = {"Old High German", family = "gmw"}, got = {"Gothic", family = "gme", scripts = {"Goth"}, translit = "Goth-translit"}}
