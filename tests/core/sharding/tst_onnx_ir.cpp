// SPDX-License-Identifier: Apache-2.0
//
// Files of onnx-ir open here without a complaint, and ours load there with the same specs. Needs
// $SHARDWRIGHT_PYTHON.

#include "sharding/codec.h"
#include "support/model_builder.h"

#include <QtTest/QTest>

#include <QtCore/QFile>
#include <QtCore/QProcess>
#include <QtCore/QTemporaryDir>

using namespace shardwright;
using namespace shardwright::test;

namespace {

QString sourceFile(const char* name) {
    const QString source = qEnvironmentVariable("SHARDWRIGHT_SOURCE", ".");
    return source + "/tests/core/sharding/" + name;
}

/// Standard output of the script; the test fails where it does not end well.
QString runScript(const QStringList& arguments) {
    QProcess process;
    process.setProcessChannelMode(QProcess::SeparateChannels);
    process.start(qEnvironmentVariable("SHARDWRIGHT_PYTHON"),
                  QStringList{sourceFile("onnx_ir_specs.py")} + arguments);
    if (!process.waitForFinished(100000) || process.exitCode() != 0)
        qWarning("%s", process.readAllStandardError().constData());
    return QString::fromUtf8(process.readAllStandardOutput());
}

Document openFile(const QString& path) {
    auto document = Document::open(path.toStdString());
    assert(document);
    return *document;
}

TensorInfo infoOf(const Document& document, const ShapeTable& shapes, const char* tensor) {
    return shapes.of(valueNamed(document.graph(), tensor));
}

}  // namespace

class TstOnnxIr : public QObject {
    Q_OBJECT

private slots:
    void initTestCase();
    void aFileOfOnnxIrDecodesWithoutDiagnostics();
    void aFileOfOursLoadsWithTheSameSpecs();

private:
    QTemporaryDir m_folder;
    QString path(const char* name) const { return m_folder.filePath(name); }
};

void TstOnnxIr::initTestCase() {
    if (qEnvironmentVariableIsEmpty("SHARDWRIGHT_PYTHON"))
        QSKIP("needs $SHARDWRIGHT_PYTHON with onnx-ir, which is not set");
    QVERIFY(m_folder.isValid());
}

void TstOnnxIr::aFileOfOnnxIrDecodesWithoutDiagnostics() {
    runScript({"make", path("theirs.onnx")});
    QVERIFY(QFile::exists(path("theirs.onnx")));
    const Document document = openFile(path("theirs.onnx"));
    const auto shapes = ShapeTable::build(document.model, {});
    LayoutPool pool;
    const auto configuration = findConfiguration(document, *shapes, "c", pool);
    QVERIFY(configuration);
    QCOMPARE(configuration->deviceNames.size(), std::size_t(4));
    const auto decoded = decodeAnnotations(document, *shapes, *configuration, pool);
    for (const Diagnostic& diagnostic : decoded.diagnostics)
        qWarning("%s %s", diagnostic.code.c_str(), diagnostic.message.c_str());
    QVERIFY(decoded.diagnostics.empty());

    const NodeSpecs& mm = *decoded.nodes[nodeNamed(document.graph(), "mm").index()];
    QCOMPARE(mm.stage, 0);
    QVERIFY(*mm.find("w")->layout == Layout({8, 6}, {{}, {{6, 2}}}, {{0}, {1}}));
    const NodeSpecs& relu = *decoded.nodes[nodeNamed(document.graph(), "relu").index()];
    QCOMPARE(relu.stage, 1);
    QVERIFY(*relu.find("y")->layout == Layout({4, 6}, {{{4, 2}}, {{6, 2}}}, {{0}, {1}, {2}, {3}}));
    QVERIFY(*relu.find("z")->layout == Layout::replicated({4, 6}, {2, 3}));
}

void TstOnnxIr::aFileOfOursLoadsWithTheSameSpecs() {
    Document document = ModelBuilder{}
                            .irVersion(11)
                            .input("x", {"batch", 24})
                            .input("w", {24, 6})
                            .op("MatMul", {"x", "w"}, {"y"}, "mm")
                            .output("y", {"batch", 6})
                            .document();
    const auto shapes = ShapeTable::build(document.model, {});
    const Mesh mesh = *Mesh::parse("dp=2,tp=2");
    LayoutPool pool;
    apply(document.annotations, editConfiguration(document, "c", mesh));
    const auto configuration = findConfiguration(document, *shapes, "c", pool);
    const NodeId node = nodeNamed(document.graph(), "mm");
    const auto set = [&](const char* tensor, const MeshSharding& sharding) {
        const TensorInfo info = infoOf(document, *shapes, tensor);
        const Layout layout = *encode(mesh, sharding, info.dims);
        apply(document.annotations, editSpec(document, node, "c", tensor, &layout, info));
    };
    set("x", {{{{8, {0}}}, {{3, {}}, {8, {1}}}}});
    set("w", {{{{24, {1}}}, {}}});
    set("y", {{{}, {}}});
    apply(document.annotations, editStage(document, node, *configuration, 0, *shapes, pool));
    QVERIFY(document.save(path("ours.onnx").toStdString()));

    const QString expected =
        "configuration c 4\n"
        "node mm c 0\n"
        "spec x [0, 1, 2, 3] [] [(0, [('batch', 2)]), (1, [('3', 1), ('8', 2)])]\n"
        "spec w [-1, -2] [(-1, [0, 2]), (-2, [1, 3])] [(0, [('24', 2)])]\n"
        "spec y [-1] [(-1, [0, 1, 2, 3])] []\n";
    QCOMPARE(runScript({"show", path("ours.onnx")}), expected);

    // And through onnx-ir back to us.
    runScript({"copy", path("ours.onnx"), path("back.onnx")});
    const Document back = openFile(path("back.onnx"));
    const auto decode = [&](const Document& opened) {
        const auto table = ShapeTable::build(opened.model, {});
        const auto found = findConfiguration(opened, *table, "c", pool);
        assert(found && found->meshSource == Configuration::MeshSource::Metadata);
        return decodeAnnotations(opened, *table, *found, pool);
    };
    const auto before = decode(document), after = decode(back);
    QVERIFY(before.diagnostics.empty() && after.diagnostics.empty());
    for (const DecodedSpec& spec : before.nodes[node.index()]->specs)
        QCOMPARE(after.nodes[node.index()]->find(spec.tensor)->layout.get(), spec.layout.get());
    QCOMPARE(after.nodes[node.index()]->stage, 0);
}

QTEST_GUILESS_MAIN(TstOnnxIr)
#include "tst_onnx_ir.moc"
