return {labels = {transitive = {display = "transitive"}, archaic = {display = "archaic"}, ornithology = {display = "[[ornithology]]"}, Tuscany = {display = "Tuscany"}},
	aliases = {ornith = "ornithology", arch = "archaic"}}
