return {ang = {"Old English", family = "gmw", entry_name = {remove = mw.ustring.char(0x304)}}}
