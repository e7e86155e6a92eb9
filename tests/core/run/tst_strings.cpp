// SPDX-License-Identifier: Apache-2.0
#include "run/npy.h"
#include "run/ort_api.h"
#include "run/run_job.h"
#include "sharding/edit.h"
#include "sharding/shard_text.h"
#include "support/communicator_fault.h"
#include "support/model_builder.h"
#include "support/run_recorder.h"

#include <QDir>
#include <QFile>
#include <QProcess>
#include <QTemporaryDir>
#include <QTest>

#include <fstream>

using namespace shardwright;
using namespace shardwright::test;
using T = onnx::TensorProto;

namespace {

struct Annotation {
    std::string mesh;
    std::vector<std::string> shards, stages;
};

std::string annotated(Document document, const Annotation& wanted) {
    LayoutPool pool;
    AnnotateRequest request;
    request.mesh = wanted.mesh;
    request.shards = wanted.shards;
    request.stages = wanted.stages;
    auto outcome = annotate(document, *ShapeTable::build(document.model, {}), request, pool);
    if (!outcome)
        qFatal("%s", outcome.error().text().c_str());
    apply(document.annotations, outcome->edit);
    return document.toBytes().value();
}

onnx::TensorProto words(const std::string& name, const std::vector<std::string>& texts) {
    onnx::TensorProto tensor;
    tensor.set_name(name);
    tensor.set_data_type(T::STRING);
    tensor.add_dims(static_cast<std::int64_t>(texts.size()));
    for (const std::string& text : texts)
        tensor.add_string_data(text);
    return tensor;
}

/// Colours with an ending become categories, one-hot vectors and a product; and what else reads
/// strings.
ModelBuilder colours() {
    onnx::TensorProto values;
    values.set_data_type(T::FLOAT);
    values.set_name("on_off");
    values.add_dims(2);
    values.add_float_data(0);
    values.add_float_data(1);
    ModelBuilder builder;
    builder.opset("ai.onnx.ml", 4)
        .input("x", {8, 2}, T::STRING)
        .initializer(words("ending", {"!"}))
        .initializer(values)
        .scalar("depth", 4)
        .weight("w", {4, 16});
    builder.op("StringConcat", {"x", "ending"}, {"s"}, "concat")
        .op("LabelEncoder", {"s"}, {"k"}, "label",
            {Attribute::strings("keys_strings", {"red!", "red!!", "blue!!"}),
             {"values_int64s", {1, 2, 3}},
             {"default_int64", 0}},
            "ai.onnx.ml")
        .op("OneHot", {"k", "depth", "on_off"}, {"h"}, "hot")
        .op("MatMul", {"h", "w"}, {"y"}, "mm")
        .op("RegexFullMatch", {"s"}, {"m"}, "match", {{"pattern", "r.*"}})
        .op("TfIdfVectorizer", {"s"}, {"t"}, "grams",
            {{"mode", "TF"},
             {"min_gram_length", 1},
             {"max_gram_length", 1},
             {"max_skip_count", 0},
             {"ngram_counts", {0}},
             {"ngram_indexes", {0, 1}},
             Attribute::strings("pool_strings", {"red!!", "blue!"})});
    return builder.output("s", {8, 2}, T::STRING)
        .output("y", {8, 2, 16})
        .output("m", {8, 2}, T::BOOL)
        .output("t", {8, 2});
}

QString failureOf(const RunOutcome& outcome) {
    const auto* failure = std::get_if<RunFailure>(&outcome);
    return failure ? QString::fromStdString(failure->message + " (" + failure->place + ")")
                   : QString();
}

std::string contentOf(const QString& path) {
    QFile file(path);
    return file.open(QIODevice::ReadOnly) ? file.readAll().toStdString() : std::string();
}

/// What a saved shard says.
std::vector<std::string> textsIn(const QString& path) {
    const std::string file = contentOf(path);
    const auto header = parseNpyHeader(file);
    if (!header)
        return {header.error().message};
    auto texts = npyTexts(*header, std::string_view(file).substr(header->headerBytes));
    return texts ? *texts : std::vector<std::string>{texts.error().message};
}

}  // namespace

/// Tensors of strings as inputs, outputs and in between.
class TstStrings : public QObject {
    Q_OBJECT

private slots:
    void initTestCase() {
        if (!OrtRuntime::find())
            QSKIP("needs ONNX Runtime, which is not there");
    }

    void stringsRunSharded_data() {
        QTest::addColumn<QString>("mesh");
        QTest::addColumn<QStringList>("shards");
        QTest::addColumn<QStringList>("stages");
        QTest::addColumn<QString>("moved");
        const QStringList none;
        QTest::newRow("replicated") << "tp=2" << QStringList{"w:1=tp"} << none << "";
        QTest::newRow("batch") << "dp=2" << QStringList{"x:0=dp"} << none << "";
        QTest::newRow("uneven batch") << "dp=3" << QStringList{"x:0=dp"} << none << "";
        QTest::newRow("gathered") << "dp=2" << QStringList{"x:0=dp", "s@label:replicated"} << none
                                  << "all-gather";
        QTest::newRow("stages") << "pp=2" << none << QStringList{"concat=0", "label=1", "hot=1",
                                                                 "mm=1",     "match=1", "grams=1"}
                                << "send";
    }
    void stringsRunSharded() {
        QFETCH(QString, mesh);
        QFETCH(QStringList, shards);
        QFETCH(QStringList, stages);
        QFETCH(QString, moved);
        Annotation annotation{mesh.toStdString(), {}, {}};
        for (const QString& shard : shards)
            annotation.shards.push_back(shard.toStdString());
        for (const QString& stage : stages)
            annotation.stages.push_back(stage.toStdString());
        RunRequest request;
        request.modelBytes = annotated(colours().document(), annotation);
        for (const VerifyMode mode : {VerifyMode::Outputs, VerifyMode::All}) {
            request.verify = mode;
            Recorder recorder;
            const RunOutcome outcome = runJob(request, recorder.sink());
            QVERIFY2(failureOf(outcome).isEmpty(), qPrintable(failureOf(outcome)));
            const RunReport& report = std::get<RunReport>(outcome);
            QVERIFY(report.verified == true);
            QCOMPARE(report.outputs.size(), std::size_t{4});
            QVERIFY(report.executed == report.predicted);
            QCOMPARE(report.executed.count(moved.toStdString()), moved.isEmpty() ? 0u : 1u);
            if (mode == VerifyMode::All)
                QCOMPARE(report.tensors.size(), std::size_t{6});
        }
    }

    /// A gathered half that did not arrive.
    void aWrongStringIsSeen() {
        RunRequest request;
        request.modelBytes =
            annotated(colours().document(), {"dp=2", {"x:0=dp", "s@label:replicated"}, {}});
        request.verify = VerifyMode::Outputs;
        request.seed = 3;
        RunHooks hooks;
        hooks.decorate = [](std::unique_ptr<Communicator> inner) {
            return std::make_unique<CommunicatorFault>(std::move(inner), Fault::Exchange, 0);
        };
        Recorder recorder;
        const RunOutcome outcome = runJob(request, recorder.sink(), {}, hooks);
        QVERIFY2(failureOf(outcome).isEmpty(), qPrintable(failureOf(outcome)));
        QVERIFY(std::get<RunReport>(outcome).verified == false);
    }

    void inputsComeFromFilesAndShardsAreSaved_data() {
        QTest::addColumn<bool>("numpy");
        QTest::newRow("npz") << true;
        QTest::newRow("TensorProto") << false;
    }
    void inputsComeFromFilesAndShardsAreSaved() {
        QFETCH(bool, numpy);
        QTemporaryDir folder;
        const std::vector<std::string> given{"red",  "blue", "grün", "",     "日本", "red",
                                             "blue", "red",  "x",    "grün", "a b",  "red",
                                             "red",  "blue", "blue", "zz"};
        RunRequest request;
        request.modelBytes = annotated(colours().document(), {"dp=2", {"x:0=dp"}, {}});
        request.verify = VerifyMode::Outputs;
        request.saveShardsFolder = folder.filePath("shards").toStdString();
        request.observe = {"x"};
        if (numpy) {
            // What was saved is read again.
            StringPool pool;
            const auto buffer = pool.buffer(given, {8, 2});
            const auto file = npyTextFile(*buffer, pool);
            QVERIFY(file);
            std::ofstream(folder.filePath("x.npy").toStdString(), std::ios::binary) << *file;
            QCOMPARE(textsIn(folder.filePath("x.npy")), given);
            QProcess python;
            python.start(qEnvironmentVariable("SHARDWRIGHT_PYTHON", "python3"),
                         {"-c",
                          "import numpy, sys; numpy.savez(sys.argv[2], x=numpy.load(sys.argv[1]))",
                          folder.filePath("x.npy"), folder.filePath("in.npz")});
            if (!python.waitForFinished() || python.exitCode() != 0)
                QSKIP("needs Python with numpy");
            request.inputsPath = folder.filePath("in.npz").toStdString();
        } else {
            onnx::TensorProto tensor = words("x", given);
            tensor.clear_dims();
            tensor.add_dims(8);
            tensor.add_dims(2);
            QDir(folder.path()).mkdir("in");
            std::ofstream(folder.filePath("in/input_0.pb").toStdString(), std::ios::binary)
                << tensor.SerializeAsString();
            request.inputsPath = folder.filePath("in").toStdString();
        }
        Recorder recorder;
        const RunOutcome outcome = runJob(request, recorder.sink());
        QVERIFY2(failureOf(outcome).isEmpty(), qPrintable(failureOf(outcome)));
        QVERIFY(std::get<RunReport>(outcome).verified == true);
        std::vector<std::string> expected;
        for (const std::string& text : given)
            expected.push_back(text + "!");
        auto saved = textsIn(folder.filePath("shards/s.dev0.npy"));
        const auto second = textsIn(folder.filePath("shards/s.dev1.npy"));
        saved.insert(saved.end(), second.begin(), second.end());
        QCOMPARE(saved, expected);
    }

    void whatCannotBeIsRefusedInWords() {
        // The number of pieces depends on the data.
        ModelBuilder builder;
        builder.input("x", {4}, T::STRING)
            .op("StringSplit", {"x"}, {"y", "n"}, "split")
            .op("StringConcat", {"y", "y"}, {"z"}, "concat")
            .output("z");
        RunRequest request;
        request.modelBytes = annotated(builder.document(), {"dp=2", {}, {}});
        Recorder recorder;
        QVERIFY2(failureOf(runJob(request, recorder.sink())).contains("not known"),
                 qPrintable(failureOf(runJob(request, recorder.sink()))));
        StringPool pool;
        QVERIFY(!pool.add(std::string("a\0b", 3)));
    }

    void poolsOfProcessesAgree() {
        StringPool one, two;
        const auto a = one.add("a"), b = two.add("b");
        QVERIFY(a && b && *a != *b);
        QVERIFY(two.addPacked(one.packed(0)));
        QVERIFY(two.find(*a) && *two.find(*a) == "a");
        QCOMPARE(*two.add("a"), *a);
        QVERIFY(two.packed(two.size()).empty());
        const std::string packed = two.packed(0);
        for (std::size_t length = 1; length < packed.size(); ++length)
            if (length != 9)  // One whole string.
                QVERIFY(!StringPool().addPacked(packed.substr(0, length)));
    }
};

QTEST_GUILESS_MAIN(TstStrings)
#include "tst_strings.moc"
