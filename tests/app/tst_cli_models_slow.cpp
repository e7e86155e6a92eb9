// SPDX-License-Identifier: Apache-2.0
// Every real model with its batch, its weights, and both over 2, 3, 4 and 8 devices: verified, and
// what was executed is what was predicted. Prints the table. What does not apply says why in the
// words of the rule, and is listed in docs/runs.md.
#include "cli_process.h"
#include "support/shared_files.h"

#include <QJsonArray>
#include <QTemporaryDir>
#include <QtTest>

using namespace shardwright::test;

namespace {

/// How a model is split: files of rules in tests/data/annotations.
struct Recipe {
    QString model;
    QString tensor{};        ///< Weights over tp.
    int keyHeads = 0;        ///< Fewer than query heads: split where tp divides them,
    QString keyHeadsFile{};  ///< by these rules.
    int queryHeads = 0;      ///< Where tp does not divide them:
    QString unevenFile{};    ///< instead of `tensor`.
    QString batch{};         ///< The batch over dp; empty: first dimensions of all inputs.
    QStringList bindings{};  ///< Where 8 is no size that the model runs with.
};

const QList<Recipe> kRecipes{
    {.model = "attn_rope_opset23_dynamo",
     .tensor = "attention_rope",
     .keyHeads = 4,
     .keyHeadsFile = "attention_rope_key_heads",
     .queryHeads = 8,
     .unevenFile = "attention_rope_groups"},
    {.model = "bert_4l_dynamo", .tensor = "bert"},
    {.model = "bert_4l_qdq", .tensor = "bert_quantised"},
    {.model = "gpt2_12l_dynamo", .tensor = "gpt2"},
    {.model = "llama_32l_gqa_legacy",
     .tensor = "llama",
     .keyHeads = 4,
     .keyHeadsFile = "llama_key_heads",
     .bindings = {"seq=4"}},
    {.model = "llama_4l_gqa_legacy",
     .tensor = "llama",
     .keyHeads = 4,
     .keyHeadsFile = "llama_key_heads"},
    {.model = "loop_if_legacy_script", .tensor = "loop_if"},
    {.model = "lstm_gru_legacy", .tensor = "lstm_gru"},
    {.model = "magika__standard_v3_3", .tensor = "magika"},
    {.model = "mlp_2layer_legacy", .tensor = "mlp"},
    {.model = "mnist_conv_dynamo", .tensor = "mnist"},
    {.model = "moe_8e_legacy", .tensor = "moe"},
    {.model = "onnx_light_resnet50", .tensor = "resnet50"},
    {.model = "resnet18_w16_dynamo", .tensor = "resnet18"},
    {.model = "silero_vad__silero_vad",
     .tensor = "silero_vad",
     .batch = "silero_vad_batch",
     .bindings = {"input#1=288"}},
    {.model = "t5_encdec_legacy", .tensor = "t5"},
};

/// A row of the list in docs/runs.md.
struct NotApplicable {
    QString model, split, devices, why;
};

QStringList cells(const QString& line) {
    QStringList list = line.split('|');
    for (QString& cell : list)
        cell = cell.trimmed();
    return list.mid(1, list.size() - 2);
}

QList<NotApplicable> documented() {
    QFile file(qEnvironmentVariable("SHARDWRIGHT_SOURCE") + "/docs/runs.md");
    if (!file.open(QIODevice::ReadOnly))
        return {};
    const QString text = QString::fromUtf8(file.readAll());
    QList<NotApplicable> rows;
    for (const QString& line : text.mid(text.indexOf("| model | split |")).split('\n').mid(2)) {
        if (!line.startsWith('|'))
            break;
        const QStringList row = cells(line);
        rows.append({row.value(0), row.value(1), row.value(2), row.value(3)});
    }
    return rows;
}

QStringList bindArguments(const Recipe& recipe) {
    QStringList arguments;
    for (const QString& binding : recipe.bindings)
        arguments << "--bind" << binding;
    return arguments;
}

}  // namespace

class TstCliModelsSlow : public QObject {
    Q_OBJECT
private slots:
    void initTestCase() {
        if (sharedModels().empty())
            QSKIP("models: the shared models are not here");
        m_documented = documented();
        QVERIFY2(!m_documented.isEmpty(), "docs/runs.md has no list of what does not apply");
    }
    void everyModelRunsSplit_data();
    void everyModelRunsSplit();
    void whatDoesNotApplyIsAllThatIsListed();

private:
    QString annotated(const Recipe& recipe, const QString& path, int dp, int tp);
    QString apply(const Recipe& recipe, const QString& path, const QString& file,
                  const QString& mesh);
    QString splitBatch(const Recipe& recipe, const QString& path, const QString& mesh);
    static QString fixedBatch(const QString& path);
    QString run(const QString& row, const Recipe& recipe, const QString& path, bool splitsWeights);
    QString listedReason(const QString& model, const QString& split, int devices) const;

    QTemporaryDir m_folder;
    QString m_wrong;  ///< What went wrong in the row.
    int m_files = 0;
    QList<NotApplicable> m_documented;
    QSet<QString> m_notApplicable;
};

void TstCliModelsSlow::everyModelRunsSplit_data() {
    QTest::addColumn<QString>("path");
    QTest::addColumn<QString>("split");
    QTest::addColumn<int>("devices");
    for (const auto& path : sharedModels())
        for (const char* split : {"batch", "tensor", "both"})
            for (const int devices : {2, 3, 4, 8})
                QTest::addRow("%s %s %d", path.stem().c_str(), split, devices)
                    << QString::fromStdString(path.string()) << QString(split) << devices;
}

/// One file's rules, on another mesh than it has.
QString TstCliModelsSlow::apply(const Recipe& recipe, const QString& path, const QString& file,
                                const QString& mesh) {
    QFile rules(qEnvironmentVariable("SHARDWRIGHT_SOURCE") + "/tests/data/annotations/" + file +
                ".json");
    if (!rules.open(QIODevice::ReadOnly)) {
        m_wrong = "there is no " + rules.fileName();
        return {};
    }
    QJsonObject json = QJsonDocument::fromJson(rules.readAll()).object();
    json["mesh"] = mesh;
    QFile meshed(m_folder.filePath("rules.json"));
    if (!meshed.open(QIODevice::WriteOnly))
        return {};
    meshed.write(QJsonDocument(json).toJson());
    meshed.close();
    const QString out = m_folder.filePath(QString("annotated%1.onnx").arg(++m_files % 4));
    const CliResult applied =
        runCli(QStringList{"annotations", "apply", path, meshed.fileName(), "-o", out} +
               bindArguments(recipe));
    m_wrong = applied.exitCode == 0 ? QString() : file + ": " + applied.out + applied.err;
    return m_wrong.isEmpty() ? out : QString();
}

QString TstCliModelsSlow::splitBatch(const Recipe& recipe, const QString& path,
                                     const QString& mesh) {
    if (!recipe.batch.isEmpty())
        return apply(recipe, path, recipe.batch, mesh);
    const QString out = m_folder.filePath(QString("annotated%1.onnx").arg(++m_files % 4));
    QStringList arguments{"annotate", path, "--mesh", mesh, "-o", out};
    for (const QJsonValue& value :
         runCli({"info", path, "--format", "json"}).json()["inputs"].toArray()) {
        const QJsonArray shape = value.toObject()["shape"].toArray();
        if (!shape.isEmpty() && shape[0].isString())
            arguments << "--shard" << value.toObject()["name"].toString() + ":0=dp";
    }
    const CliResult annotated = runCli(arguments + bindArguments(recipe));
    m_wrong = annotated.exitCode == 0 ? QString() : annotated.err;
    return m_wrong.isEmpty() ? out : QString();
}

/// The model with its batch over `dp` devices and its weights over `tp`; 0: not split.
QString TstCliModelsSlow::annotated(const Recipe& recipe, const QString& path, int dp, int tp) {
    const QString mesh = dp == 0   ? QString("tp=%1").arg(tp)
                         : tp == 0 ? QString("dp=%1").arg(dp)
                                   : QString("dp=%1,tp=%2").arg(dp).arg(tp);
    QString file = path;
    if (tp > 0) {
        const bool uneven = recipe.queryHeads > 0 && recipe.queryHeads % tp != 0;
        file = apply(recipe, file, uneven ? recipe.unevenFile : recipe.tensor, mesh);
        if (!file.isEmpty() && recipe.keyHeads > 0 && recipe.keyHeads % tp == 0)
            file = apply(recipe, file, recipe.keyHeadsFile, mesh);
    }
    return dp == 0 || file.isEmpty() ? file : splitBatch(recipe, file, mesh);
}

QString TstCliModelsSlow::listedReason(const QString& model, const QString& split,
                                       int devices) const {
    for (const NotApplicable& row : m_documented)
        if ((row.model == model || row.model == "every model") && row.split.contains(split) &&
            (row.devices == "all" || row.devices.split(", ").contains(QString::number(devices))))
            return row.why;
    return {};
}

QString TstCliModelsSlow::fixedBatch(const QString& path) {
    const QJsonArray inputs = runCli({"info", path, "--format", "json"}).json()["inputs"].toArray();
    const QJsonValue batch = inputs[0].toObject()["shape"].toArray()[0];
    return batch.isDouble() ? QString("its batch is fixed at %1").arg(batch.toInt()) : QString();
}

/// Runs it and prints its row. Gives why it cannot be split like that; empty: it can.
QString TstCliModelsSlow::run(const QString& row, const Recipe& recipe, const QString& path,
                              bool splitsWeights) {
    const QStringList bind = bindArguments(recipe);
    const CliResult run = runCli(QStringList{"run", path, "--verify", "--format", "json"} + bind);
    const QJsonObject json = run.json();
    if (json["failure"]["place"].toString() == "SW302")
        return json["failure"]["message"].toString();
    if (run.exitCode != 0 || json["predicted"] != json["executed"]) {
        m_wrong = run.err + run.out.right(600);
        return {};
    }
    const QJsonObject executed = json["executed"].toObject();
    // What a body holds is not split by what its nodes say.
    if (splitsWeights && executed.isEmpty())
        for (const QJsonValue& value : runCli(QStringList{"check", path, "--format", "json"} + bind)
                                           .json()["diagnostics"]
                                           .toArray())
            if (value["code"].toString() == "SW311")
                return value["message"].toString();
    double worst = 0;
    bool rounding = false;
    for (const QJsonValue& output : json["outputs"].toArray()) {
        worst = std::max(worst, output.toObject()["max_rel"].toDouble());
        rounding |=
            output.toObject()["max_rel"].toDouble() > output.toObject()["tolerance"].toDouble();
    }
    QStringList kinds;
    for (auto it = executed.begin(); it != executed.end(); ++it)
        kinds << QString("%1 %2").arg(it.value().toObject()["count"].toInt()).arg(it.key());
    qInfo("%s: verified, %.1e%s; %s", qPrintable(row), worst, rounding ? " by rounding" : "",
          kinds.isEmpty() ? "no collective" : qPrintable(kinds.join(", ")));
    return {};
}

void TstCliModelsSlow::everyModelRunsSplit() {
    QFETCH(QString, path);
    QFETCH(QString, split);
    QFETCH(int, devices);
    const QString model = QFileInfo(path).completeBaseName();
    const QString row = QTest::currentDataTag();
    const auto recipe = std::find_if(kRecipes.begin(), kRecipes.end(),
                                     [&](const Recipe& r) { return r.model == model; });
    QVERIFY2(recipe != kRecipes.end(), "nothing says how this model is split");
    const bool both = split == "both";
    const int dp = split == "batch" ? devices : both ? 2 : 0;
    const int tp = split == "tensor" ? devices : both ? devices / 2 : 0;
    QString why;
    if (both && devices < 4)
        why = "a prime number of devices has no two axes";
    else if (dp > 0)
        why = fixedBatch(path);
    if (why.isEmpty()) {
        const QString file = annotated(*recipe, path, dp, tp);
        QVERIFY2(m_wrong.isEmpty(), qPrintable(m_wrong));
        why = run(row, *recipe, file, tp > 0);
        QVERIFY2(m_wrong.isEmpty(), qPrintable(m_wrong));
    }
    const QString listed = listedReason(model, split, devices);
    if (why.isEmpty()) {
        QVERIFY2(listed.isEmpty(), "docs/runs.md lists this as not applicable, and it is");
        return;
    }
    qInfo("%s: n/a, %s", qPrintable(row), qPrintable(why));
    QVERIFY2(!listed.isEmpty() && why.contains(listed),
             "docs/runs.md does not list this among what does not apply, or not so");
    m_notApplicable.insert(listed);
}

/// A line of the list that no row needs any more is out of date.
void TstCliModelsSlow::whatDoesNotApplyIsAllThatIsListed() {
    for (const NotApplicable& row : m_documented)
        QVERIFY2(m_notApplicable.contains(row.why), qPrintable(row.model + ": " + row.why));
    QCOMPARE(m_documented.size(), 4);
}

QTEST_GUILESS_MAIN(TstCliModelsSlow)
#include "tst_cli_models_slow.moc"
