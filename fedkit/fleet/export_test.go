package fleet

// KeepAll makes workers keep all results and fetch all arguments, so that small models take the path of large ones.
func KeepAll() { small, tiny = 0, 0 }
