return {pro = {"Old Occitan", family = "roa"}}
