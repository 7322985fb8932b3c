# An alarm for each row of deploy/alarms.md. deploy/alarms.json has the conditions; tests compare the two.
#
# A policy can have only one such condition, hence three kinds: a metric of Managed Prometheus (PromQL), one log line,
# and several log lines within some minutes, counted by a metric.

locals {
  alarms = jsondecode(file("${path.module}/../alarms.json"))

  guide = coalesce(var.guide_url, "deploy/alarms.md")

  severities = { now = "CRITICAL", today = "ERROR", look = "WARNING" }

  figure_alarms = merge([
    for alarm in local.alarms : {
      for figure in lookup(alarm, "figures", []) : figure.query => {
        names = alarm.names, urgency = alarm.urgency, query = figure.query, for_s = figure.for_s
      }
    }
  ]...)

  line_alarms = {
    for alarm in local.alarms : join(", ", alarm.any_of) => { names = alarm.names, urgency = alarm.urgency, any_of = alarm.any_of }
    if contains(keys(alarm), "any_of")
  }

  repeated_line_alarms = {
    for alarm in local.alarms : alarm.names[0] => {
      names = alarm.names, urgency = alarm.urgency
      query = join(" ", [
        "sum by (service, event, part) (increase(${local.lines_metric}{monitored_resource=\"cloud_run_revision\",",
        "event=~\"${alarm.lines.event}\", part=~\"${lookup(alarm.lines, "part", ".*")}\"}[${alarm.lines.within_s}s]))",
        "> ${alarm.lines.more_than}",
      ])
      for_s = 0
    }
    if contains(keys(alarm), "lines")
  }

  counted_events = distinct(flatten([
    for alarm in local.alarms : split("|", alarm.lines.event) if contains(keys(alarm), "lines")
  ]))

  # The log lines of our services, as a filter of Cloud Logging.
  our_lines = join(" AND ", [
    "resource.type=\"cloud_run_revision\"",
    "resource.labels.service_name=(${join(" OR ", [for service in local.services : "\"${var.name}-${service}\""])})",
  ])

  # The PromQL name of a metric of log lines.
  lines_metric = "logging_googleapis_com:user_${replace(var.name, "-", "_")}_lines"

  # Anchors of the guide's headings, as hosts of Markdown name them.
  anchors = {
    for alarm in local.alarms : alarm.names[0] => replace(
      replace(lower(join(", ", alarm.names)), "/[^a-z0-9_ -]/", ""), " ", "-"
    )
  }
}

resource "google_logging_metric" "lines" {
  name        = "${replace(var.name, "-", "_")}_lines"
  description = "Log lines that are an alarm when there are several within some minutes"
  filter      = "${local.our_lines} AND jsonPayload.event=(${join(" OR ", [for event in local.counted_events : "\"${event}\""])})"

  metric_descriptor {
    metric_kind = "DELTA"
    value_type  = "INT64"

    labels {
      key        = "event"
      value_type = "STRING"
    }
    labels {
      key        = "part"
      value_type = "STRING"
    }
    labels {
      key        = "service"
      value_type = "STRING"
    }
  }

  label_extractors = {
    event   = "EXTRACT(jsonPayload.event)"
    part    = "EXTRACT(jsonPayload.part)"
    service = "EXTRACT(labels.service)"
  }

  depends_on = [google_project_service.this]
}

resource "google_monitoring_alert_policy" "figure" {
  for_each = merge(local.figure_alarms, local.repeated_line_alarms)

  display_name          = "${var.name}: ${join(", ", each.value.names)}"
  combiner              = "OR"
  severity              = local.severities[each.value.urgency]
  notification_channels = lookup(var.notification_channels, each.value.urgency, [])

  conditions {
    display_name = each.value.query

    condition_prometheus_query_language {
      query               = each.value.query
      duration            = "${each.value.for_s}s"
      evaluation_interval = "30s"

      # The metrics do not exist before the first scrape.
      disable_metric_validation = true
    }
  }

  alert_strategy {
    auto_close = "86400s"
  }

  documentation {
    mime_type = "text/markdown"
    content   = "${each.value.urgency}: [meaning and remedy](${local.guide}#${local.anchors[each.value.names[0]]})"
  }

  depends_on = [google_logging_metric.lines]
}

resource "google_monitoring_alert_policy" "line" {
  for_each = local.line_alarms

  display_name          = "${var.name}: ${each.key}"
  combiner              = "OR"
  severity              = local.severities[each.value.urgency]
  notification_channels = lookup(var.notification_channels, each.value.urgency, [])

  conditions {
    display_name = "log line ${each.key}"

    condition_matched_log {
      filter = "${local.our_lines} AND jsonPayload.event=(${join(" OR ", [for event in each.value.any_of : "\"${event}\""])})"
      label_extractors = {
        event   = "EXTRACT(jsonPayload.event)"
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
    content   = "${each.value.urgency}: [meaning and remedy](${local.guide}#${local.anchors[each.value.names[0]]})"
  }

  depends_on = [google_project_service.this]
}
