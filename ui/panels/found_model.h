// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/document.h"

#include <QAbstractListModel>

#include <memory>
#include <vector>

namespace shardwright {

/// The nodes that a search found.
class FoundModel : public QAbstractListModel {
    Q_OBJECT

public:
    using QAbstractListModel::QAbstractListModel;
    void show(std::shared_ptr<const Model> model, std::vector<NodeId> nodes);
    const std::vector<NodeId>& nodes() const { return m_nodes; }
    int rowCount(const QModelIndex& parent = {}) const override;
    QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override;

private:
    std::shared_ptr<const Model> m_model;
    std::vector<NodeId> m_nodes;
};

}  // namespace shardwright
