# What setup mends in GoNB's sources: see install_gonb.
# A place in the code is any text that ends in main.go:12; what follows its second colon is then taken for a column, as a number of spaces.
s/strings\.Repeat(" ", col-1)/strings.Repeat(" ", inBetween(col-1, 0, 500))/
s/lineNum -= 1 \(.. Error\)/lineNum = minT(lineNum, len(codeLines)+1) - 1 \1/
# Long output is cut in the notebook, and not in the file of %capture.
s/_, err := io\.Copy(exec\.\(std[a-z]*\)Writer, exec\.\([A-Za-z]*\))/err := copyBriefly(exec.\1Writer, exec.\2, exec.captureDisplayDataOutput)/
/io\.MultiWriter(std[a-z]*, s\.CaptureFile)/d
# A cell that Go's parser refuses goes to fedkit's stand-in for go, which says what is meant.
s/klog\.Infof("goexec\.ExecuteCell() failed to parse the cell: .*/err = s.DisplayErrorWithContext(msg, fileToCellIdAndLine, jpyexec.Mistakes(s.TempDir, err), err)/
# A failure is one output, the error: place, message and hint in lines, without the source around them and without paths of folders.
s/message += e\.CellInfo + "\\n"/message += e.CellInfo + ": "/
s/message += e\.RawContext + "\\n"//
s/\[\]\[\]byte{cellText, match}/[][]byte{cellText}/
s/jupyterWriter: *kernel\.NewJupyterStreamWriter(msg, stream)/jupyterWriter: \&jpyexec.Held{Writer: kernel.NewJupyterStreamWriter(msg, stream)}/
s/klog\.Infof("goexec\.Execute(): failed to run the compiled cell: .*/err = jpyexec.Ending(err, nil)/
s/exitErr := jpyExec\.ExitError();/exitErr := jpyexec.Ending(jpyExec.ExitError(), stderrWithAnnotator.(*jupyterStackTraceMapperWriter).jupyterWriter);/
s/if exec\.exitError != nil {/if exec.exitError != nil \&\& !exec.useNamedPipes {/
s/ unknown or not implemented yet\./ is no command of this kernel: %%help lists them, and figures need none/
# What a notebook notes of the kernel is the same with every version of Go, so that opening one does not change it; pages color Go as Go.
s/runtime\.Version(),/runtime.Version()[:0], PygmentsLexer: "go",/
# It looks for gopls every twelve seconds, and the first completion would wait for that, or end after eight on a slow machine.
s/time\.After(ConnectTimeout)/time.After(100 * time.Millisecond)/
s/Timeout\( *\)= [0-9]*000 \* time\.Millisecond/Timeout\1= 30 * time.Second/
