package every

import (
	"maps"
	"path"
	"reflect"
	"runtime"
	"slices"
	"strings"

	"fedkit.example/datasets"
	"fedkit.example/datasets/partition"
	"fedkit.example/fedkit"
	"fedkit.example/fedkit/aggregate"
	"fedkit.example/fedkit/attack"
	"fedkit.example/fedkit/cluster"
	"fedkit.example/fedkit/metric"
	"fedkit.example/fedkit/model"
	"fedkit.example/fedkit/selection"
	"fedkit.example/fedkit/server"
	"fedkit.example/fedkit/sim"
	"fedkit.example/fedkit/strategy"
	"fedkit.example/notebooks/examples"
)

// Kind is a kind of interchangeable parts.
type Kind struct {
	Type  reflect.Type // the interface that they implement, or a model's
	Parts []any        // the zero value of each that is shipped, or the function that makes it
}

// Kinds has every part that is shipped, strategies first: those of Strategies, and the examples. A test compares it with what the packages
// export.
var Kinds = []Kind{
	{reflect.TypeFor[fedkit.Strategy](), append(kindsOf(Strategies()),
		&examples.APFL{}, &examples.CGPFL{}, &examples.Distill{}, &examples.Ditto{}, &examples.DPSGD{}, &examples.DPFedAvg{}, &examples.Fed3R{}, &examples.FedCOF{}, &examples.FedDF{}, &examples.FedDyn{}, &examples.FedEM{}, &examples.FedFomo{}, &examples.FedGroup{}, &examples.FedLAMA{}, &examples.FedLC{},
		&examples.FedNova{}, &examples.FedProto{}, &examples.FlexLoRA{}, &examples.FLoRA{}, &examples.HCFL{}, &examples.HetLoRA{}, &examples.HierFAVG{}, &examples.InTurn{}, &examples.LCFed{}, &examples.MOON{}, &examples.PACFL{}, &examples.Partial{}, &examples.PFedHN{}, &examples.PFedMe{}, &examples.QFedAvg{}, &examples.QSGD{}, &examples.Sparse{}, &examples.Straggling{})},
	{reflect.TypeFor[fedkit.Aggregator](), []any{
		aggregate.Mean{}, aggregate.Median{}, aggregate.TrimmedMean{}, aggregate.Krum{}, aggregate.MultiKrum{},
		aggregate.GeometricMedian{}, aggregate.NearestMix{}}},
	{reflect.TypeFor[fedkit.ServerOptimizer](), []any{
		server.SGD{}, server.Momentum{}, server.Adagrad{}, server.Adam{}, server.Yogi{}, server.AMSGrad{}}},
	{reflect.TypeFor[fedkit.Selector](), []any{
		selection.Random{}, selection.Diversity{}, selection.Hybrid{}, selection.Explore{}, selection.Annealed{},
		selection.OnePerCluster{}, selection.ByCluster{}, selection.Fair{}, selection.Bandwidth{}}},
	{reflect.TypeFor[fedkit.Optimizer](), []any{
		fedkit.SGD{}, fedkit.Momentum{}, fedkit.Adagrad{}, fedkit.RMSProp{}, fedkit.Adam{}, fedkit.Clip{}, fedkit.WeightDecay{}}},
	{reflect.TypeFor[fedkit.Schedule](), []any{fedkit.Decay{}, fedkit.Cosine{}}},
	{reflect.TypeFor[cluster.Clusterer](), []any{
		cluster.KMeans{}, cluster.Agglomerative{}, cluster.Spectral{}, cluster.BestSilhouette{}, cluster.Stratified{}}},
	{reflect.TypeFor[cluster.Affinity](), []any{
		cluster.PositiveCosine{}, cluster.ShiftedCosine{}, cluster.Gaussian{}, cluster.InnerProduct{}}},
	{reflect.TypeFor[strategy.Staleness](), []any{strategy.Constant{}, strategy.Poly{}, strategy.Hinge{}}},
	{reflect.TypeFor[strategy.Weighting](), []any{strategy.ByExamples{}, strategy.Equal{}}},
	{reflect.TypeFor[sim.Rule](), []any{sim.Devices{}, sim.Mixed{}, sim.Trace{}}},
	{reflect.TypeFor[sim.Distribution](), []any{
		sim.Constant(0), sim.Uniform{}, sim.LogNormal{}, sim.TwoClasses{}}},
	{reflect.TypeFor[fedkit.Metric](), []any{
		metric.MacroF1{}, metric.MacroPrecision{}, metric.Precision{}, metric.Recall{}, metric.AUC{}, metric.TopK{}, metric.TokenAccuracy{}, metric.ExpectedCalibrationError{}, metric.TagF1{}, metric.R2{}, metric.RMSE{}, metric.MAE{}}},
	{reflect.TypeFor[attack.Attack](), []any{
		attack.SignFlip{}, attack.Scaled{}, attack.Gaussian{}, attack.LabelFlip{}, attack.OneLabel{}}},
	{reflect.TypeFor[partition.Rule](), []any{
		partition.IID{}, partition.Dirichlet{}, partition.Pachinko{}, partition.Shards{}, partition.Classes{}, partition.Majority{}, partition.Quantity{},
		partition.Natural{}, partition.Same{}, partition.Rotations{}, partition.Relabel{}, partition.Noise{}, partition.Intensity{}, partition.Take{}, partition.Validation{}, partition.ByTarget{}}},
	{reflect.TypeFor[interface {
		Make() (*datasets.Dataset, error)
	}](), []any{
		datasets.Name(""), datasets.CSV{}, datasets.NPY{}, datasets.ImageFolder{}, datasets.Text{}, datasets.Synthetic{}, datasets.GaussianMixture{}, datasets.LeastSquares{}, datasets.Logistic{}, datasets.Join, examples.Prepared{}}},
	{reflect.TypeFor[fedkit.Model](), []any{
		model.LinearRegression, model.LogisticRegression, model.MLP, model.BatchNormMLP, model.LeNet, model.CNN, model.EMNISTCNN, model.ResNet8, model.ResNet18, model.GRU, model.LSTM, model.Transformer{},
		examples.Twin, examples.Coins, examples.LoRA, examples.FFALoRA, model.UniformInit, model.Freeze}},
}

// kindsOf returns the zero value of each type of strategy.
func kindsOf(strategies map[string]fedkit.Strategy) (zeros []any) {
	known := map[reflect.Type]bool{}
	for _, name := range slices.Sorted(maps.Keys(strategies)) {
		if t := reflect.TypeOf(strategies[name]).Elem(); !known[t] {
			known[t] = true
			zeros = append(zeros, reflect.New(t).Interface())
		}
	}
	return zeros
}

// Name is the name of a part with its package: "strategy.FedAvg", "model.MLP".
func Name(part any) string {
	if v := reflect.ValueOf(part); v.Kind() == reflect.Func {
		return path.Base(runtime.FuncForPC(v.Pointer()).Name())
	}
	return strings.TrimPrefix(reflect.TypeOf(part).String(), "*")
}
