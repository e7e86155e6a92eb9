// SPDX-License-Identifier: Apache-2.0
#include "ui/window/start_page.h"

#include "ui/window/recent_files.h"
#include "ui/window/text.h"
#include "ui/window/theme.h"

#include <QBoxLayout>
#include <QCommandLinkButton>
#include <QFileInfo>
#include <QIcon>
#include <QLabel>
#include <QPushButton>

namespace shardwright {
namespace {

constexpr int kWidth = 460;
constexpr int kShown = 6;

}  // namespace

StartPage::StartPage(RecentFiles* recent, QWidget* parent) : QWidget(parent), m_recent(recent) {
    setAutoFillBackground(true);
    setBackgroundRole(QPalette::Base);
    auto* logo = new QLabel(this);
    logo->setPixmap(QIcon(QStringLiteral(":/icons/shardwright.svg")).pixmap(64, 64));
    auto* title = new QLabel(QStringLiteral("Shardwright"), this);
    QFont large = font();
    large.setPointSizeF(large.pointSizeF() * 1.9);
    title->setFont(large);
    auto* hint = new QLabel(
        tr("Decide how an ONNX model is spread over many devices, see what that communicates, "
           "and run it. Drop a model here, or open one."),
        this);
    hint->setWordWrap(true);
    hint->setProperty("role", "muted");
    auto* open = new QPushButton(themedIcon(QStringLiteral("open")), tr("Open a model…"), this);
    open->setDefault(true);
    connect(open, &QPushButton::clicked, this, &StartPage::openWanted);

    auto* box = new QWidget(this);
    box->setFixedWidth(kWidth);
    auto* column = new QVBoxLayout(box);
    column->setSpacing(10);
    column->addWidget(logo);
    column->addWidget(title);
    column->addWidget(hint);
    column->addWidget(open, 0, Qt::AlignLeft);
    m_list = new QWidget(box);
    m_rows = new QVBoxLayout(m_list);
    m_rows->setContentsMargins(0, 12, 0, 0);
    m_rows->setSpacing(0);
    column->addWidget(m_list);
    auto* outer = new QVBoxLayout(this);
    outer->addStretch(2);
    outer->addWidget(box, 0, Qt::AlignHCenter);
    outer->addStretch(3);
    connect(recent, &RecentFiles::changed, this, &StartPage::refresh);
    refresh();
}

void StartPage::refresh() {
    while (QLayoutItem* item = m_rows->takeAt(0)) {
        item->widget()->hide();
        item->widget()->deleteLater();
        delete item;
    }
    const QStringList paths = m_recent->paths().mid(0, kShown);
    m_list->setVisible(!paths.isEmpty());
    if (paths.isEmpty())
        return;
    auto* heading = new QLabel(tr("Recent"), m_list);
    heading->setProperty("role", "heading");
    heading->setIndent(0);
    m_rows->addWidget(heading);
    for (const QString& path : paths) {
        const QFileInfo info(path);
        auto* row = new QPushButton(m_list);
        row->setFlat(true);
        row->setCursor(Qt::PointingHandCursor);
        // Some styles give flat buttons less than their text needs.
        row->setMinimumHeight(row->fontMetrics().height() + 12);
        row->setStyleSheet(QStringLiteral("QPushButton { text-align: left; padding: 0; }"));
        const QString text = QStringLiteral("%1   —   %2").arg(info.fileName(), info.path());
        row->setText(menuText(row->fontMetrics().elidedText(text, Qt::ElideMiddle, kWidth - 40)));
        row->setToolTip(toolTipText(path));
        row->setEnabled(info.exists());
        connect(row, &QPushButton::clicked, this, [this, path] { emit fileWanted(path); });
        m_rows->addWidget(row);
    }
}

}  // namespace shardwright
