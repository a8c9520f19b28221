// What libtempo's users are told of a failure.
#pragma once

#include "client/client.h"
#include "tempo/error.h"

namespace tempo {

inline Error public_error(const client::Error& error) {
  switch (error.code) {
    case client::ErrorCode::not_allowed:
      return {ErrorCode::not_allowed, error.sentence};
    case client::ErrorCode::refused:
      return {ErrorCode::refused, error.sentence};
    case client::ErrorCode::not_running:
    case client::ErrorCode::no_answer:
    case client::ErrorCode::nonsense:
      break;
  }
  return {ErrorCode::no_daemon, error.sentence};
}

}  // namespace tempo
