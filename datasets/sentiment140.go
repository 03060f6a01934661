package datasets

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"
)

// Sentiment140 returns LEAF's tweets of Sentiment140 by user: whether a tweet is positive (1) or not (0), told by its
// emoticons, which have been removed. Shape [25], Floats: the numbers of its first 25 words in a vocabulary of 10,000,
// and 0 behind the last. Owner is the user; the partition rule Natural makes each a client.
//
// Words are in lower case: letters, digits, _ and ', or one of the marks . , ! ? ; as LEAF splits them. The vocabulary
// is made of the training tweets: 2 is the commonest word and so on, in alphabetical order if equally common, and 1 is
// any other word. (LEAF takes the words of GloVe instead, which it does not ship.) It tells the server something about
// all clients' words.
//
// LEAF's program (github.com/TalwalkarLab/leaf) fetches the tweets, samples and splits them, with options for each step.
// So there is no file to download and no checksum to compare. In its folder data/sent140 run
//
//	./preprocess.sh -s niid --sf 0.05 -k 64 -t sample
//
// and copy the contents of data/train and data/test to the folders sentiment140/train and sentiment140/test of
// FEDKIT_DATA. Files and owners are read as FEMNIST reads its own.
//
// Source: A. Go, R. Bhayani, L. Huang, Twitter Sentiment Classification using Distant Supervision, 2009; S. Caldas et
// al., LEAF: a benchmark for federated settings, arXiv 1812.01097, section 3.
func Sentiment140() (*Dataset, error) {
	return new(Loader).Sentiment140(context.Background())
}

// Sentiment140 is the function Sentiment140 with the loader's settings; ctx can stop the reading between two files.
func (l *Loader) Sentiment140(ctx context.Context) (*Dataset, error) {
	d := &Dataset{Name: "sentiment140", Shape: []int{tweetWords}, Classes: 2}
	train, test, err := loadLEAF(ctx, l, d, "Sentiment140", leafTweets(d.Classes))
	if err != nil {
		return d.named(err)
	}
	numbers := vocabulary(train, tweetVocabulary)
	d.Train.Floats, d.Test.Floats = wordNumbers(train, numbers), wordNumbers(test, numbers)
	return d.named(nil)
}

const (
	tweetWords      = 25 // that count
	tweetVocabulary = 10000
)

// leafTweets are the fields of Sentiment140's table without the first: id, date, query, user, text, and which file it is from.
func leafTweets(classes int) leafForm[[]text, number] {
	return leafForm[[]text, number]{"tweet", func(w *writer, fields []text) error {
		if len(fields) < 5 {
			return fmt.Errorf("has %d fields: must have at least 5, of which the fifth is its text", len(fields))
		}
		w.texts = append(w.texts, string(fields[4]))
		return nil
	}, wholeLabel(classes)}
}

// words returns the first words of a text, in lower case.
func words(text string) (list []string) {
	from := -1 // where a word has begun
	for i, c := range text + " " {
		if unicode.IsLetter(c) || unicode.IsDigit(c) || c == '_' || c == '\'' {
			if from < 0 {
				from = i
			}
			continue
		}
		if from >= 0 {
			list, from = append(list, strings.ToLower(text[from:i])), -1
		}
		if strings.ContainsRune(".,!?;", c) {
			list = append(list, string(c))
		}
		if len(list) >= tweetWords {
			return list[:tweetWords]
		}
	}
	return list
}

// vocabulary numbers the commonest words of texts from 2 up to size − 1.
func vocabulary(texts []string, size int) map[string]float32 {
	count := map[string]int{}
	for _, t := range texts {
		for _, w := range words(t) {
			count[w]++
		}
	}
	numbers := map[string]float32{}
	for _, w := range slices.SortedFunc(maps.Keys(count), func(a, b string) int { return cmp.Or(count[b]-count[a], strings.Compare(a, b)) }) {
		if len(numbers)+2 == size {
			break
		}
		numbers[w] = float32(len(numbers) + 2)
	}
	return numbers
}

// wordNumbers returns the numbers of the words of texts, [n, 25].
func wordNumbers(texts []string, numbers map[string]float32) []float32 {
	x := make([]float32, len(texts)*tweetWords)
	for i, t := range texts {
		for j, w := range words(t) {
			x[i*tweetWords+j] = max(1, numbers[w])
		}
	}
	return x
}
