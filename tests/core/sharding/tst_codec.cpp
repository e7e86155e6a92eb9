// SPDX-License-Identifier: Apache-2.0
#include "sharding/codec.h"

#include "sharding/mesh_metadata.h"
#include "support/model_builder.h"
#include "support/sanitizer.h"

#include <QtTest/QTest>

#include <google/protobuf/text_format.h>

#include <ctime>
#include <limits>
#include <random>

using namespace shardwright;
using namespace shardwright::test;

namespace {

onnx::NodeDeviceConfigurationProto annotation(const std::string& text) {
    onnx::NodeDeviceConfigurationProto proto;
    [[maybe_unused]] const bool ok = google::protobuf::TextFormat::ParseFromString(text, &proto);
    assert(ok);
    return proto;
}

TensorInfo infoOf(const std::vector<std::int64_t>& shape) {
    TensorInfo info;
    info.kind = TensorInfo::Kind::Tensor;
    info.hasRank = true;
    info.dims = shape;
    for (const std::int64_t size : shape)
        info.symbolic.push_back({size, {}});
    return info;
}

struct Opened {
    Document document;
    std::shared_ptr<const ShapeTable> shapes;
    LayoutPool pool;

    explicit Opened(const ModelBuilder& builder, Bindings bindings = {})
        : document(builder.document()),
          shapes(ShapeTable::build(document.model, std::move(bindings))) {}

    Configuration configuration(const std::string& name = "c") {
        auto found = findConfiguration(document, *shapes, name, pool);
        assert(found);
        return *found;
    }
    std::shared_ptr<const NodeSpecs> at(const std::string& node) {
        m_diagnostics.clear();
        return decodeNode(document, nodeNamed(document.graph(), node), *shapes, configuration(),
                          pool, m_diagnostics);
    }
    std::string messages() const {
        std::string text;
        for (const Diagnostic& d : m_diagnostics)
            text += d.code + " " + d.message + "\n";
        return text;
    }

private:
    std::vector<Diagnostic> m_diagnostics;
};

ModelBuilder matmul() {
    return ModelBuilder{}
        .irVersion(11)
        .configuration("c", 8)
        .input("x", {"batch", 16})
        .weight("w", {16, 32})
        .op("MatMul", {"x", "w"}, {"y"}, "mm")
        .output("y", {"batch", 32});
}

}  // namespace

class TstCodec : public QObject {
    Q_OBJECT

private slots:
    void configurationsAreFoundByName();
    void aMeshComesFromMetadataElseFromTheLayouts();
    void stagesAreBoundByAxisAndByRanges();
    void aWrittenSpecReadsBackAsTheSameLayout();
    void aSymbolicDimensionKeepsItsSymbol();
    void shardsOnTheSameDevicesShareAGroup();
    void anAxisOfZeroIsWritten();
    void packedDevicesAreRead();
    void theLastOfAOneofWins();
    void anEmptySlotIsNotATensor();
    void aTensorUsedTwiceHasOneSpec();
    void nodesOfBodiesAreRead();
    void partsOfADimensionAreRead();
    void everythingIsPerConfiguration();
    void aGroupOfManyEntriesIsBounded();
    void anySpecIsReadWithoutHarm();
    void aLargeModelDecodesFast();
    void devicesAreWrittenAsRanges();
};

void TstCodec::configurationsAreFoundByName() {
    Opened opened(matmul().configuration("d", 2, {"left", "right"}));
    QCOMPARE(configurationNames(opened.document.annotations), (std::vector<std::string>{"c", "d"}));
    const Configuration d = opened.configuration("d");
    QCOMPARE(d.deviceCount, 2);
    QCOMPARE(d.deviceNames, (std::vector<std::string>{"left", "right"}));
    QCOMPARE(d.allDevices(), (DeviceGroup{0, 1}));
    const auto missing = findConfiguration(opened.document, *opened.shapes, "e", opened.pool);
    QVERIFY(!missing);
    QCOMPARE(QString::fromStdString(missing.error().message),
             QString("there is no device configuration 'e'; the model has 'c', 'd'"));
}

void TstCodec::aMeshComesFromMetadataElseFromTheLayouts() {
    Opened plain(matmul());
    QVERIFY(plain.configuration().meshSource == Configuration::MeshSource::Default);
    QCOMPARE(plain.configuration().mesh.text(), std::string("d=8"));

    Opened written(matmul().metadata("shardwright.mesh.c", R"({"mesh":"dp=2,tp=4"})"));
    QVERIFY(written.configuration().meshSource == Configuration::MeshSource::Metadata);
    QCOMPARE(written.configuration().mesh.text(), std::string("dp=2,tp=4"));

    Opened derived(matmul().annotate(
        annotation("configuration_id: 'c' sharding_spec { tensor_name: 'w' device: [-1, -2] "
                   "index_to_device_group_map { key: -1 value: [0, 1, 2, 3] } "
                   "index_to_device_group_map { key: -2 value: [4, 5, 6, 7] } "
                   "sharded_dim { axis: 1 simple_sharding { num_shards: 2 } } }")));
    QVERIFY(derived.configuration().meshSource == Configuration::MeshSource::Derived);
    QCOMPARE(derived.configuration().mesh.text(), std::string("a=2,b=4"));
}

void TstCodec::stagesAreBoundByAxisAndByRanges() {
    Opened axis(matmul().metadata("shardwright.mesh.c", R"({"mesh":"pp=2,tp=4"})"));
    QCOMPARE(axis.configuration().stageDevices(1), (DeviceGroup{4, 5, 6, 7}));
    QVERIFY(axis.configuration().stageDevices(2).empty());
    Opened ranges(matmul().metadata(
        "shardwright.mesh.c", R"({"mesh":"dp=2,tp=4","stages":{"0":"0-2","3":"3,5-7","4":"9"}})"));
    QCOMPARE(ranges.configuration().stageDevices(0), (DeviceGroup{0, 1, 2}));
    QCOMPARE(ranges.configuration().stageDevices(3), (DeviceGroup{3, 5, 6, 7}));
    QVERIFY(ranges.configuration().stageDevices(1).empty());
    QVERIFY(ranges.configuration().stageDevices(4).empty());
}

void TstCodec::aWrittenSpecReadsBackAsTheSameLayout() {
    std::mt19937 random(11);
    const auto below = [&](std::size_t n) { return random() % n; };
    for (int i = 0; i < 1500; ++i) {
        std::vector<std::int64_t> shape;
        std::vector<std::vector<Component>> dims;
        std::size_t shards = 1;
        for (std::size_t d = below(4); d-- > 0;) {
            std::int64_t size = 1;
            auto& dim = dims.emplace_back();
            for (std::size_t c = 1 + below(2); c-- > 0;) {
                dim.push_back({static_cast<std::int64_t>(1 + below(7)),
                               static_cast<std::int64_t>(1 + below(4))});
                size *= dim.back().size;
                shards *= static_cast<std::size_t>(dim.back().shards);
            }
            shape.push_back(size);
        }
        if (shards > 200)
            continue;
        std::vector<DeviceGroup> groups;
        for (std::size_t shard = 0; shard < shards; ++shard) {
            DeviceGroup group{static_cast<DeviceId>(below(8))};
            if (below(3) == 0)
                group.push_back(static_cast<DeviceId>(below(8)));
            groups.push_back(group);
        }
        const Layout layout(shape, dims, groups);
        Shape modelShape(shape.begin(), shape.end());
        onnx::NodeDeviceConfigurationProto proto;
        proto.set_configuration_id("c");
        *proto.add_sharding_spec() = encodeSpec(layout, "x", infoOf(shape));
        Opened opened(ModelBuilder{}
                          .irVersion(11)
                          .configuration("c", 8)
                          .input("x", modelShape)
                          .op("Relu", {"x"}, {"y"}, "n")
                          .annotate(proto)
                          .output("y", modelShape));
        const auto specs = opened.at("n");
        QVERIFY2(specs->specs.size() == 1 && specs->specs[0].layout, opened.messages().c_str());
        QVERIFY(*specs->specs[0].layout == layout);
    }
}

void TstCodec::aSymbolicDimensionKeepsItsSymbol() {
    Opened opened(matmul(), Bindings{{{"batch", 6}}, 8});
    const TensorInfo& info = opened.shapes->of(valueNamed(opened.document.graph(), "x"));
    const Layout layout({6, 16}, {{{6, 2}}, {{16, 4}}}, {{0}, {1}, {2}, {3}, {4}, {5}, {6}, {7}});
    const onnx::ShardingSpecProto spec = encodeSpec(layout, "x", info);
    QCOMPARE(spec.sharded_dim(0).simple_sharding(0).dim_param(), std::string("batch"));
    QCOMPARE(spec.sharded_dim(1).simple_sharding(0).dim_value(), std::int64_t(16));
    TensorInfo anonymous = info;
    anonymous.symbolic[0].symbol.clear();
    const auto unset = encodeSpec(layout, "x", anonymous).sharded_dim(0).simple_sharding(0);
    QCOMPARE(int(unset.dim_case()), int(onnx::SimpleShardedDimProto::DIM_NOT_SET));
}

void TstCodec::shardsOnTheSameDevicesShareAGroup() {
    const Layout layout({4, 4}, {{{4, 2}}, {{4, 2}}}, {{0, 1}, {2, 3}, {2, 3}, {4}});
    const onnx::ShardingSpecProto spec = encodeSpec(layout, "x", infoOf({4, 4}));
    QCOMPARE(spec.device_size(), 4);
    QCOMPARE(std::vector<std::int64_t>(spec.device().begin(), spec.device().end()),
             (std::vector<std::int64_t>{-1, -2, -2, 4}));
    QCOMPARE(spec.index_to_device_group_map_size(), 2);
    const auto whole = encodeSpec(Layout::replicated({4}, {0, 1}), "x", infoOf({4}));
    QCOMPARE(whole.device(0), std::int64_t(-1));
    QVERIFY(whole.sharded_dim().empty());
    QCOMPARE(encodeSpec(Layout::replicated({4}, {3}), "x", infoOf({4})).device(0), std::int64_t(3));
}

void TstCodec::anAxisOfZeroIsWritten() {
    const auto spec = encodeSpec(Layout({4}, {{{4, 2}}}, {{0}, {1}}), "x", infoOf({4}));
    QVERIFY(spec.sharded_dim(0).has_axis());
}

void TstCodec::packedDevicesAreRead() {
    // Field 2 as proto3 writes it: one length-delimited entry.
    onnx::NodeDeviceConfigurationProto proto = annotation("configuration_id: 'c'");
    onnx::ShardingSpecProto spec;
    QVERIFY(
        spec.ParseFromString(std::string("\x0a\x01x\x12\x02\x00\x01\x22\x04\x12\x02\x18\x02", 13)));
    *proto.add_sharding_spec() = spec;
    Opened opened(ModelBuilder{}
                      .irVersion(11)
                      .configuration("c", 2)
                      .input("x", {4})
                      .op("Relu", {"x"}, {"y"}, "n")
                      .annotate(proto)
                      .output("y", {4}));
    const auto specs = opened.at("n");
    QVERIFY2(specs->specs[0].layout, opened.messages().c_str());
    // Its axis is absent, which is 0.
    QVERIFY(*specs->specs[0].layout == Layout({4}, {{{4, 2}}}, {{0}, {1}}));
}

void TstCodec::theLastOfAOneofWins() {
    onnx::SimpleShardedDimProto simple;
    simple.set_num_shards(2);
    // dim_value 5, then dim_param "n".
    QVERIFY(simple.MergeFromString(std::string("\x08\x05\x12\x01n", 5)));
    QVERIFY(simple.dim_case() == onnx::SimpleShardedDimProto::kDimParam);
    QCOMPARE(simple.dim_param(), std::string("n"));
}

void TstCodec::anEmptySlotIsNotATensor() {
    Opened opened(ModelBuilder{}
                      .irVersion(11)
                      .configuration("c", 2)
                      .input("x", {4})
                      .real("hi", 1.0F)
                      .op("Clip", {"x", "", "hi"}, {"y"}, "n")
                      .annotate(annotation(
                          "configuration_id: 'c' sharding_spec { tensor_name: '' device: 0 }"))
                      .output("y", {4}));
    QVERIFY(opened.at("n")->specs.empty());
    QVERIFY(opened.messages().find("SW113") != std::string::npos);
}

void TstCodec::aTensorUsedTwiceHasOneSpec() {
    Opened opened(ModelBuilder{}
                      .irVersion(11)
                      .configuration("c", 2)
                      .input("x", {4})
                      .op("Add", {"x", "x"}, {"y"}, "n")
                      .annotate(annotation(
                          "configuration_id: 'c' sharding_spec { tensor_name: 'x' device: 1 }"))
                      .output("y", {4}));
    QCOMPARE(opened.at("n")->specs.size(), std::size_t(1));
    QCOMPARE(QString::fromStdString(opened.messages()), QString());
}

void TstCodec::nodesOfBodiesAreRead() {
    const auto branch = [](const char* name, const std::string& text) {
        ModelBuilder body;
        body.op("Relu", {"x"}, {name}, std::string("relu_") + name)
            .annotate(annotation(text))
            .output(name, {4});
        return body.graph();
    };
    Opened opened(
        ModelBuilder{}
            .irVersion(11)
            .configuration("c", 2)
            .input("x", {4})
            .input("p", {}, onnx::TensorProto::BOOL)
            .op("If", {"p"}, {"y"}, "if",
                {{"then_branch",
                  branch("a",
                         "configuration_id: 'c' sharding_spec { tensor_name: 'x' device: 1 }")},
                 {"else_branch", branch("b", "configuration_id: 'q'")}})
            .output("y", {4}));
    const auto specs = opened.at("relu_a");
    QVERIFY2(specs && specs->specs.size() == 1 && specs->specs[0].layout,
             opened.messages().c_str());
    QVERIFY(!opened.at("relu_b"));
    QVERIFY(opened.messages().find("SW110") != std::string::npos);
}

void TstCodec::partsOfADimensionAreRead() {
    Opened opened(
        matmul().annotate(annotation("configuration_id: 'c' sharding_spec { tensor_name: 'w' "
                                     "device: [0, 1] sharded_dim { axis: -1 "
                                     "simple_sharding { dim_value: 4 num_shards: 1 } "
                                     "simple_sharding { dim_value: 8 num_shards: 2 } } }")));
    const auto specs = opened.at("mm");
    QVERIFY2(specs->specs[0].layout, opened.messages().c_str());
    QCOMPARE(QString::fromStdString(opened.messages()), QString());
    QVERIFY(specs->specs[0].layout->holding(0)[0].dims[1] ==
            IndexSet({{0, 4}, {8, 12}, {16, 20}, {24, 28}}));
}

void TstCodec::everythingIsPerConfiguration() {
    Opened opened(matmul()
                      .configuration("d", 2)
                      .annotate(annotation("configuration_id: 'd' pipeline_stage: 3 sharding_spec "
                                           "{ tensor_name: 'w' device: 7 }"))
                      .annotate(annotation(
                          "configuration_id: 'c' sharding_spec { tensor_name: 'x' device: 7 }")));
    const auto specs = opened.at("mm");
    QCOMPARE(QString::fromStdString(opened.messages()), QString());
    QCOMPARE(specs->stage, -1);
    QVERIFY(specs->find("x"));
    QVERIFY(!specs->find("w"));
}

void TstCodec::aGroupOfManyEntriesIsBounded() {
    // 20,000 shards, each on a group of 20,000 devices: 40 KB of file, 1.6 GB when written out.
    onnx::NodeDeviceConfigurationProto proto =
        annotation("configuration_id: 'c' sharding_spec { tensor_name: 'x' }");
    auto* spec = proto.mutable_sharding_spec(0);
    auto* group = spec->add_index_to_device_group_map();
    group->set_key(-1);
    for (int device = 0; device < 20000; ++device) {
        group->add_value(device);
        spec->add_device(-1);
    }
    auto* dim = spec->add_sharded_dim();
    dim->set_axis(0);
    dim->add_simple_sharding()->set_num_shards(20000);
    Opened opened(ModelBuilder{}
                      .irVersion(11)
                      .configuration("c", 20000)
                      .input("x", {40000})
                      .op("Relu", {"x"}, {"y"}, "n")
                      .annotate(proto)
                      .output("y", {40000}));
    QVERIFY(!opened.at("n")->specs[0].layout);
    QVERIFY2(opened.messages().starts_with("SW203"), opened.messages().c_str());
}

void TstCodec::anySpecIsReadWithoutHarm() {
    std::mt19937 random(31);
    const auto below = [&](std::size_t n) { return random() % n; };
    const std::int64_t values[] = {0,
                                   1,
                                   2,
                                   3,
                                   4,
                                   8,
                                   -1,
                                   -2,
                                   -5,
                                   7,
                                   1000000,
                                   std::int64_t{1} << 40,
                                   std::numeric_limits<std::int64_t>::max(),
                                   std::numeric_limits<std::int64_t>::min()};
    const auto number = [&] { return values[below(below(3) == 0 ? std::size(values) : 8)]; };
    const std::vector<std::int64_t> sizes{
        0, 1, 5, 8, std::int64_t{1} << 40, std::numeric_limits<std::int64_t>::max() / 4};
    for (int i = 0; i < 1500; ++i) {
        onnx::NodeDeviceConfigurationProto proto;
        proto.set_configuration_id("c");
        if (below(3) == 0)
            proto.set_pipeline_stage(static_cast<int>(number()));
        for (std::size_t n = below(3); n-- > 0;) {
            auto* spec = proto.add_sharding_spec();
            spec->set_tensor_name(below(5) == 0 ? "q" : below(3) == 0 ? "y" : "x");
            for (std::size_t k = below(6); k-- > 0;)
                spec->add_device(number());
            for (std::size_t k = below(3); k-- > 0;) {
                auto* group = spec->add_index_to_device_group_map();
                group->set_key(number());
                for (std::size_t m = below(4); m-- > 0;)
                    group->add_value(number());
            }
            for (std::size_t k = below(3); k-- > 0;) {
                auto* dim = spec->add_sharded_dim();
                if (below(3) != 0)
                    dim->set_axis(number());
                for (std::size_t m = below(3); m-- > 0;) {
                    auto* simple = dim->add_simple_sharding();
                    simple->set_num_shards(number());
                    if (below(2) == 0)
                        simple->set_dim_value(number());
                    else if (below(2) == 0)
                        simple->set_dim_param("batch");
                }
            }
        }
        Shape shape;
        for (std::size_t d = below(4); d-- > 0;)
            shape.push_back(below(4) == 0 ? Dim("batch") : Dim(sizes[below(sizes.size())]));
        Opened opened(ModelBuilder{}
                          .irVersion(11)
                          .configuration("c", static_cast<int>(1 + below(8)))
                          .input("x", shape)
                          .op("Relu", {"x"}, {"y"}, "n")
                          .annotate(proto)
                          .output("y", shape));
        const Configuration configuration = opened.configuration();
        const auto decoded =
            decodeAnnotations(opened.document, *opened.shapes, configuration, opened.pool);
        const Annotations before = opened.document.annotations;
        for (const Diagnostic& diagnostic : decoded.diagnostics) {
            for (const Fix& fix : diagnostic.fixes) {
                const Edit inverse = apply(opened.document.annotations, fix.edit);
                decodeAnnotations(opened.document, *opened.shapes, configuration, opened.pool);
                apply(opened.document.annotations, inverse);
                QVERIFY(opened.document.annotations.sameAs(before));
            }
        }
        for (const DecodedSpec& spec :
             decoded.nodes[0] ? decoded.nodes[0]->specs : std::vector<DecodedSpec>{}) {
            if (!spec.layout)
                continue;
            for (const DeviceId device : spec.layout->devices())
                QVERIFY(spec.layout->holding(device).size() <= 8);
            decode(configuration.mesh, *spec.layout);
        }
    }
}

void TstCodec::aLargeModelDecodesFast() {
    constexpr int kNodes = 7343;
    ModelBuilder builder;
    builder.irVersion(11).configuration("c", 8).metadata("shardwright.mesh.c",
                                                         R"({"mesh":"dp=2,tp=4"})");
    builder.input("v0", {4, 128, 4096}).output("v" + std::to_string(kNodes), {4, 128, 4096});
    const Layout layout =
        *encode(*Mesh::parse("dp=2,tp=4"), {{{{4, {0}}}, {}, {{4096, {1}}}}}, {4, 128, 4096});
    for (int i = 0; i < kNodes; ++i) {
        const std::string input = "v" + std::to_string(i), output = "v" + std::to_string(i + 1);
        builder.op("Relu", {input}, {output}, "n" + std::to_string(i));
        if (i % 14 != 0)
            continue;
        onnx::NodeDeviceConfigurationProto proto;
        proto.set_configuration_id("c");
        *proto.add_sharding_spec() = encodeSpec(layout, input, infoOf({4, 128, 4096}));
        *proto.add_sharding_spec() = encodeSpec(layout, output, infoOf({4, 128, 4096}));
        builder.annotate(proto);
    }
    Opened opened(builder);
    const Configuration configuration = opened.configuration();
    double best = 1e9;
    for (int run = 0; run < 5; ++run) {
        const std::clock_t begin = std::clock();
        const auto decoded =
            decodeAnnotations(opened.document, *opened.shapes, configuration, opened.pool);
        // Processor time: tests run side by side on busy machines.
        best = std::min(best, 1e3 * static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC);
        QVERIFY(decoded.diagnostics.empty());
    }
    qInfo("decodeAnnotations of 7343 nodes, 525 annotated: %.2f ms", best);
    QVERIFY2(best < 10 * kSlowness, "slower than 10 ms");
}

void TstCodec::devicesAreWrittenAsRanges() {
    QCOMPARE(devicesText({0, 1, 2, 3, 5, 7, 8}), std::string("0-3,5,7,8"));
    QCOMPARE(*parseDevices("0-3,5, 7,8,2"), (DeviceGroup{0, 1, 2, 3, 5, 7, 8}));
    for (const char* bad : {"", "a", "3-1", "-1", "1-", "0-99999999", "1,,2"})
        QVERIFY2(!parseDevices(bad), bad);
}

QTEST_GUILESS_MAIN(TstCodec)
#include "tst_codec.moc"
