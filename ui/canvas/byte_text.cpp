// SPDX-License-Identifier: Apache-2.0
#include "ui/canvas/byte_text.h"

#include <QLocale>

namespace shardwright {

QString byteText(std::int64_t bytes) {
    return QLocale().formattedDataSize(bytes, bytes < 1024 ? 0 : 1, QLocale::DataSizeIecFormat);
}

}  // namespace shardwright
