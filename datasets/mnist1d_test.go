package datasets

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"testing"

	"fedkit.example/fedkit/fedtest/expect"
)

// The SHA-256 of what mnist1d 0.0.2.post1 makes with NumPy 2.4.6 and SciPy 1.17.1, as little-endian float32 and int32:
//
//	d = mnist1d.data.make_dataset(); sha256(d["x"].astype("<f4").tobytes()), sha256(d["y"].astype("<i4").tobytes())
func TestMNIST1DIsThatOfThePackage(t *testing.T) {
	d := MNIST1D()
	expect.OK(t, d.Check())
	if d.Train.Len() != 4000 || d.Test.Len() != 1000 || d.Classes != 10 || d.Name != "mnist-1d" {
		t.Errorf("%q, %d and %d rows, %d classes", d.Name, d.Train.Len(), d.Test.Len(), d.Classes)
	}
	for _, part := range []struct {
		name   string
		values any
		want   string
	}{
		{"x", d.Train.Floats, "d53506bddd12d3b72c7153b1ae7f34807724b1dd078a7273809bf9d0792319f6"},
		{"y", d.Train.Labels, "349d9015145a182689d6949b2af9d6466831b99f440cbdba8d682094f0de89d0"},
		{"x_test", d.Test.Floats, "30addc43827c82aafa5db8bc97cea63349ca687e87db2f201cc4f5415d9a4ebd"},
		{"y_test", d.Test.Labels, "6d4fabd193f078c2517ef7786d602c5a2ddb8b66b407873f4e14c97b935d6dbd"},
	} {
		sum := sha256.New()
		expect.OK(t, binary.Write(sum, binary.LittleEndian, part.values))
		if got := hex.EncodeToString(sum.Sum(nil)); got != part.want {
			t.Errorf("%s has SHA-256 %s, the package's %s", part.name, got, part.want)
		}
	}
}
