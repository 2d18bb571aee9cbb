local m = {}
m["en"] = {"English", family = "gmw"}
m["de"] = {"German", family = "gmw"}
m["fr"] = {"French", family = "roa"}
m["it"] = {"Italian", family = "roa", entry_name = {remove = mw.ustring.char(0x304)}}
m["la"] = {"Latin", family = "itc", entry_name = {remove = mw.ustring.char(0x304) .. mw.ustring.char(0x306)}}
m["ru"] = {"Russian", family = "zle", scripts = {"Cyrl"}, translit = "ru-translit", entry_name = {remove = mw.ustring.char(0x301)}}
m["nl"] = {"Dutch", family = "gmw"}
m["sa"] = {"Sanskrit", family = "inc", scripts = {"Deva"}}
return m
