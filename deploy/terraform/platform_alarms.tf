# Alarms on Google's own metrics, and on metrics that could not be read. deploy/alarms.md names them below its table.

resource "google_monitoring_alert_policy" "unacked" {
  display_name          = "${var.name}: a service does not keep up with its events"
  combiner              = "OR"
  severity              = local.severities["today"]
  notification_channels = lookup(var.notification_channels, "today", [])

  conditions {
    display_name = "the oldest message waits for 5 minutes"

    condition_threshold {
      filter = join(" AND ", [
        "metric.type=\"pubsub.googleapis.com/subscription/oldest_unacked_message_age\"",
        "resource.type=\"pubsub_subscription\"",
        "resource.labels.subscription_id=one_of(${join(", ", [for name in sort(keys(local.consumers)) : "\"${name}\""])})",
      ])
      comparison      = "COMPARISON_GT"
      threshold_value = 300
      duration        = "60s"

      aggregations {
        alignment_period   = "60s"
        per_series_aligner = "ALIGN_MAX"
      }
    }
  }

  documentation {
    mime_type = "text/markdown"
    content   = "today: messages are not handled. [Why events fail](${local.guide}#aex_events_failing_seconds) on the service that the subscription's name ends with."
  }

  depends_on = [google_project_service.this]
}

resource "google_monitoring_alert_policy" "backstop" {
  display_name          = "${var.name}: messages that no process survived"
  combiner              = "OR"
  severity              = local.severities["today"]
  notification_channels = lookup(var.notification_channels, "today", [])

  conditions {
    display_name = "a message is in ${local.pubsub.dead_letters}"

    condition_threshold {
      filter = join(" AND ", [
        "metric.type=\"pubsub.googleapis.com/subscription/num_undelivered_messages\"",
        "resource.type=\"pubsub_subscription\"",
        "resource.labels.subscription_id=\"${local.pubsub.dead_letters}\"",
      ])
      comparison      = "COMPARISON_GT"
      threshold_value = 0
      duration        = "0s"

      aggregations {
        alignment_period   = "60s"
        per_series_aligner = "ALIGN_MAX"
      }
    }
  }

  documentation {
    mime_type = "text/markdown"
    content   = "today: read it with `gcloud pubsub subscriptions pull ${local.pubsub.dead_letters}`, without `--auto-ack`. Kept for 7 days."
  }

  depends_on = [google_project_service.this]
}

resource "google_monitoring_alert_policy" "unreadable" {
  display_name          = "${var.name}: a metric could not be read"
  combiner              = "OR"
  severity              = local.severities["today"]
  notification_channels = lookup(var.notification_channels, "today", [])

  conditions {
    display_name = "log line gauge_unreadable"

    condition_matched_log {
      filter = "${local.our_lines} AND jsonPayload.event=\"gauge_unreadable\""
      label_extractors = {
        gauge   = "EXTRACT(jsonPayload.gauge)"
        service = "EXTRACT(labels.service)"
      }
    }
  }

  alert_strategy {
    auto_close = "86400s"

    notification_rate_limit {
      period = "300s"
    }
  }

  documentation {
    mime_type = "text/markdown"
    content   = "today: the alarm of an unreadable metric may be firing. [The guide](${local.guide}) has a section for the metric that the log line names."
  }

  depends_on = [google_project_service.this]
}
