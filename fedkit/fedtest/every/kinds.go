package every

import (
	"path"
	"reflect"
	"runtime"
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

// Kinds has every part that is shipped, strategies first. A test compares it with what the packages export.
var Kinds = []Kind{
	{reflect.TypeFor[fedkit.Strategy](), []any{
		&strategy.FedAvg{}, &strategy.FedSGD{}, &strategy.FedMiddleAvg{}, &strategy.FedOpt{}, &strategy.FedAvgM{}, &strategy.FedAdagrad{},
		&strategy.FedAdam{}, &strategy.FedYogi{}, &strategy.FedMedian{}, &strategy.FedProx{}, &strategy.SCAFFOLD{}, &strategy.SmartFedProx{},
		&strategy.CCFL{}, &strategy.FedAsync{}, &strategy.FedBuff{}, &strategy.FedEff{}, &strategy.FedSplit{}, &strategy.FedRep{}, &strategy.LocalOnly{},
		&strategy.FedPRISM{}, &strategy.FedClust{}, &strategy.IFCA{}, &strategy.OneShot{}, &strategy.FedCluster{}, &strategy.FedSC{},
		&strategy.FedAC{}, &strategy.AdaptiveClustering{}, &strategy.CFL{}, &strategy.LCFL{}, &strategy.FeSEM{},
		&examples.APFL{}, &examples.Distill{}, &examples.Ditto{}, &examples.DPSGD{}, &examples.DPFedAvg{}, &examples.Fed3R{}, &examples.FedCOF{}, &examples.FedDF{}, &examples.FedDyn{}, &examples.FedEM{}, &examples.FedFomo{}, &examples.FedLAMA{}, &examples.FedLC{},
		&examples.FedNova{}, &examples.FedProto{}, &examples.FlexLoRA{}, &examples.FLoRA{}, &examples.HetLoRA{}, &examples.HierFAVG{}, &examples.MOON{}, &examples.PACFL{}, &examples.Partial{}, &examples.PFedHN{}, &examples.PFedMe{}, &examples.QFedAvg{}, &examples.QSGD{}, &examples.Sparse{}}},
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
		cluster.PositiveCosine{}, cluster.Gaussian{}, cluster.InnerProduct{}}},
	{reflect.TypeFor[strategy.Staleness](), []any{strategy.Constant{}, strategy.Poly{}, strategy.Hinge{}}},
	{reflect.TypeFor[strategy.Weighting](), []any{strategy.ByExamples{}, strategy.Equal{}}},
	{reflect.TypeFor[sim.Rule](), []any{sim.Devices{}, sim.Mixed{}, sim.Trace{}}},
	{reflect.TypeFor[sim.Distribution](), []any{
		sim.Constant(0), sim.Uniform{}, sim.LogNormal{}, sim.TwoClasses{}}},
	{reflect.TypeFor[fedkit.Metric](), []any{
		metric.MacroF1{}, metric.Recall{}, metric.TokenAccuracy{}, metric.ExpectedCalibrationError{}, metric.TagF1{}, metric.R2{}, metric.RMSE{}, metric.MAE{}}},
	{reflect.TypeFor[attack.Attack](), []any{
		attack.SignFlip{}, attack.Scaled{}, attack.Gaussian{}, attack.LabelFlip{}, attack.OneLabel{}}},
	{reflect.TypeFor[partition.Rule](), []any{
		partition.IID{}, partition.Dirichlet{}, partition.Pachinko{}, partition.Shards{}, partition.Classes{}, partition.Majority{}, partition.Quantity{},
		partition.Natural{}, partition.Same{}, partition.Rotations{}, partition.Relabel{}, partition.Noise{}, partition.Intensity{}, partition.Take{}, partition.Validation{}, partition.ByTarget{}}},
	{reflect.TypeFor[interface {
		Make() (*datasets.Dataset, error)
	}](), []any{
		datasets.Name(""), datasets.CSV{}, datasets.NPY{}, datasets.ImageFolder{}, datasets.Text{}, datasets.Synthetic{}, datasets.GaussianMixture{}, datasets.LeastSquares{}, datasets.Logistic{}, datasets.Join}},
	{reflect.TypeFor[fedkit.Model](), []any{
		model.LinearRegression, model.LogisticRegression, model.MLP, model.BatchNormMLP, model.LeNet, model.CNN, model.EMNISTCNN, model.ResNet8, model.ResNet18, model.GRU, model.LSTM, model.Transformer{},
		examples.Twin, examples.LoRA, examples.FFALoRA, model.UniformInit, model.Freeze}},
}

// Name is the name of a part with its package: "strategy.FedAvg", "model.MLP".
func Name(part any) string {
	if v := reflect.ValueOf(part); v.Kind() == reflect.Func {
		return path.Base(runtime.FuncForPC(v.Pointer()).Name())
	}
	return strings.TrimPrefix(reflect.TypeOf(part).String(), "*")
}
