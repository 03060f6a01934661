package worker

// KeepAll makes workers keep all results, so that small models take the path of large ones.
func KeepAll() { small = 0 }
