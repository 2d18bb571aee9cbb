return {["LL."] = {"Late Latin", parent = "la", family = "itc"}, ["VL."] = {"Vulgar Latin", parent = "la", family = "itc"}}
