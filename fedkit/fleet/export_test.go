package fleet

// KeepAll lets workers keep all results and fetch all arguments, however small: so small models take the way of large ones.
func KeepAll() { small, tiny = 0, 0 }
