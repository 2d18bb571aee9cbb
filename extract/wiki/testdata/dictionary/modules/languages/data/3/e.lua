return {enm = {"Middle English", family = "gmw"}}
