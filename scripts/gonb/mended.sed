# What setup mends in GoNB's sources: see install_gonb.
# A place in the code is any text that ends in main.go:12; what follows its second colon is then taken for a column, as a number of spaces.
s/strings\.Repeat(" ", col-1)/strings.Repeat(" ", inBetween(col-1, 0, 500))/
s/lineNum -= 1 \(.. Error\)/lineNum = minT(lineNum, len(codeLines)+1) - 1 \1/
# Long output is cut in the notebook, and not in the file of %capture.
s/_, err := io\.Copy(exec\.\(std[a-z]*\)Writer, exec\.\([A-Za-z]*\))/err := copyBriefly(exec.\1Writer, exec.\2, exec.captureDisplayDataOutput)/
/io\.MultiWriter(std[a-z]*, s\.CaptureFile)/d
