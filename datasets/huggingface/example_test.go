package huggingface_test

import (
	"fmt"
	"os"

	"github.com/janpfeifer/must"

	"fedkit.example/datasets/huggingface"
)

// A data set whose writers can become clients, and what is said where it is not at hand.
func ExampleDataset() {
	must.M(os.Setenv("HF_HUB_CACHE", "/nowhere"))
	must.M(os.Setenv("FEDKIT_OFFLINE", "1"))
	_, err := huggingface.Dataset{Name: "flwrlabs/femnist", Label: "character", Owner: "writer_id"}.Make()
	fmt.Println(err)
	// Output:
	// datasets: huggingface.Dataset: flwrlabs/femnist is not in /nowhere/datasets--flwrlabs--femnist (no revision main), and downloads are not allowed (FEDKIT_OFFLINE is set): get it by `hf download --repo-type dataset flwrlabs/femnist`, which was huggingface-cli download
}
