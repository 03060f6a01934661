package fedkit

import (
	"context"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
)

func TestHistoriesKeepTheManifest(t *testing.T) {
	fed, _ := toy(t, 4, 9)
	h, err := Run(context.Background(), fed, &mean{Local: Local{Batch: 4, LR: 0.1}}, Options{Rounds: 1})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "h.json")
	if err := h.Save(file); err != nil {
		t.Fatal(err)
	}
	back, err := Load(file)
	if err != nil {
		t.Fatal(err)
	}
	if want := fed.Manifest(); back.Manifest == nil || !reflect.DeepEqual(*back.Manifest, want) || len(want.Data) != 64 || len(want.Clients) != 64 {
		t.Errorf("manifest %v, want %v", back.Manifest, want)
	}

	// Other data have another manifest; who stands between clients and server has no part in it.
	d := *fed.Data
	d.Train.Labels = slices.Clone(d.Train.Labels)
	d.Train.Labels[0] = 1 - d.Train.Labels[0]%2
	other, err := fed.WithData(&d, "raised")
	if err != nil {
		t.Fatal(err)
	}
	was, is, same := fed.Manifest(), other.Manifest(), fed.Intercept(nudge(1)).Manifest()
	if was.Data == is.Data || was.Clients != is.Clients || !reflect.DeepEqual(was, same) {
		t.Errorf("manifests %v, %v with other data, %v with an interceptor", was, is, same)
	}

	// A history from before manifests were kept.
	h.Manifest = nil
	if err := h.Save(file); err != nil {
		t.Fatal(err)
	}
	if back, err = Load(file); err != nil || back.Manifest != nil {
		t.Errorf("%v, %v", back.Manifest, err)
	}
}

// A run says on which device it is.
func TestDescribeSaysWhichDevice(t *testing.T) {
	fed, _ := toy(t, 4, 4)
	h, err := Describe(fed, &mean{Local: Local{Batch: 4, LR: 0.1}}, Options{Rounds: 1})
	if err != nil || !strings.Contains(h.Hardware, " processor") && h.Device == "cpu" {
		t.Errorf("%+v, %v", h, err)
	}
}
