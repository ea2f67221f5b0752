gpu[1-3]
gpu5
