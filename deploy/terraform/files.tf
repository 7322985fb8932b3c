# Files mounted into containers. Cloud Run mounts files from Secret Manager; none of these is secret.

locals {
  config_files = {
    for name, file in {
      outcome = {
        path     = var.outcome_config_file
        name     = "outcome-verification.yaml"
        setting  = "AEX_OUTCOME_CONFIG"
        services = ["verification", "work-publisher"]
      }
      rules = {
        path     = var.rules_config_file
        name     = "rules.yaml"
        setting  = "AEX_RULES_CONFIG"
        services = ["governance"]
      }
    } : name => file if file.path != null
  }

  # The collector's targets. Our metrics have the label `service` themselves.
  collector_config = {
    apiVersion = "monitoring.googleapis.com/v1beta"
    kind       = "RunMonitoring"
    metadata   = { name = var.name }
    spec = {
      endpoints    = [{ port = local.port, path = "/metrics", interval = "30s" }]
      targetLabels = { metadata = ["instance", "revision"] }
    }
  }

  # {file}/{service}
  file_readers = merge(
    { for service in local.services : "collector/${service}" => { file = "collector", service = service } },
    merge([
      for name, file in local.config_files : {
        for service in file.services : "${name}/${service}" => { file = name, service = service }
      }
    ]...)
  )
}

resource "google_secret_manager_secret" "file" {
  for_each = toset(concat(["collector"], keys(local.config_files)))

  secret_id = "${var.name}-file-${each.value}"

  replication {
    auto {}
  }

  depends_on = [google_project_service.this]
}

resource "google_secret_manager_secret_version" "file" {
  for_each = google_secret_manager_secret.file

  secret      = each.value.id
  secret_data = each.key == "collector" ? yamlencode(local.collector_config) : file(local.config_files[each.key].path)

  # Older revisions keep reading their version.
  deletion_policy = "ABANDON"
}

resource "google_secret_manager_secret_iam_member" "file" {
  for_each = local.file_readers

  secret_id = google_secret_manager_secret.file[each.value.file].id
  role      = "roles/secretmanager.secretAccessor"
  member    = google_service_account.service[each.value.service].member
}
