# Uptime checks every minute from outside: liveness and readiness of each service. Failures of /readyz are logged
# (`part_not_ready`), and the alarms of the parts count those lines.

locals {
  # Google's front end answers /healthz under run.app with 404 itself. /docs needs no part and no token either.
  uptime_paths = { "/healthz" = "/docs", "/readyz" = "/readyz" }

  probes = {
    for pair in setproduct(local.services, keys(local.uptime_paths)) :
    join("", pair) => { service = pair[0], path = pair[1] }
  }

  probe_alarms = {
    for alarm in local.alarms : alarm.names[0] => alarm if contains(keys(alarm), "probe")
  }
}

resource "google_monitoring_uptime_check_config" "this" {
  for_each = local.probes

  display_name = "${var.name}: ${each.key}"
  period       = "60s"
  timeout      = "10s"

  http_check {
    path         = local.uptime_paths[each.value.path]
    port         = 443
    use_ssl      = true
    validate_ssl = true
  }

  monitored_resource {
    type = "uptime_url"
    labels = {
      project_id = var.project_id
      host       = trimprefix(local.urls[each.value.service], "https://")
    }
  }

  depends_on = [google_cloud_run_v2_service.this]
}

resource "google_monitoring_alert_policy" "probe" {
  for_each = local.probe_alarms

  display_name          = "${var.name}: ${each.key}"
  combiner              = "OR"
  severity              = local.severities[each.value.urgency]
  notification_channels = lookup(var.notification_channels, each.value.urgency, [])

  dynamic "conditions" {
    for_each = { for name, probe in local.probes : name => probe if probe.path == each.value.probe }

    content {
      display_name = "${conditions.key} does not answer"

      condition_threshold {
        filter = join(" AND ", [
          "metric.type=\"monitoring.googleapis.com/uptime_check/check_passed\"",
          "metric.labels.check_id=\"${google_monitoring_uptime_check_config.this[conditions.key].uptime_check_id}\"",
          "resource.type=\"uptime_url\"",
        ])
        comparison      = "COMPARISON_GT"
        threshold_value = 1
        duration        = "60s"

        # The number of locations without an answer.
        aggregations {
          alignment_period     = "120s"
          per_series_aligner   = "ALIGN_NEXT_OLDER"
          cross_series_reducer = "REDUCE_COUNT_FALSE"
          group_by_fields      = ["resource.label.host"]
        }
        trigger {
          count = 1
        }
      }
    }
  }

  documentation {
    mime_type = "text/markdown"
    content   = "${each.value.urgency}: [meaning and remedy](${local.guide}#${local.anchors[each.key]})"
  }
}
