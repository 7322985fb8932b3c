resource "google_storage_bucket" "this" {
  for_each = local.buckets

  name     = each.value
  location = var.region

  uniform_bucket_level_access = true
  public_access_prevention    = "enforced"
  force_destroy               = false

  # 7 days, as the point-in-time recovery of the databases. No versions: an object is named by its content's digest and
  # never overwritten.
  soft_delete_policy {
    retention_duration_seconds = 604800
  }

  lifecycle_rule {
    action {
      type = "AbortIncompleteMultipartUpload"
    }
    condition {
      age = 1
    }
  }

  # Unfinished uploads.
  lifecycle_rule {
    action {
      type = "Delete"
    }
    condition {
      age            = 1
      matches_prefix = [for area in local.blob_areas : "${area}/staging/"]
    }
  }

  depends_on = [google_project_service.this]
}

locals {
  blob_areas = ["artifacts", "data", "evaluation", "records"]
}

# The role includes listing: without that right a missing blob looks like an outage.
resource "google_storage_bucket_iam_member" "user" {
  for_each = local.bucket_of

  bucket = google_storage_bucket.this[each.value].name
  role   = "roles/storage.objectUser"
  member = google_service_account.service[each.key].member
}

# Data of large events, which every service writes and reads. Messages are retained for 7 days, dead letters hold their
# data themselves.
resource "google_storage_bucket" "events" {
  name     = "${var.project_id}-${var.name}-events"
  location = var.region

  uniform_bucket_level_access = true
  public_access_prevention    = "enforced"
  force_destroy               = false

  lifecycle_rule {
    action {
      type = "Delete"
    }
    condition {
      age = 35
    }
  }

  depends_on = [google_project_service.this]
}

resource "google_storage_bucket_iam_member" "event_user" {
  for_each = local.bucket_of

  bucket = google_storage_bucket.events.name
  role   = "roles/storage.objectUser"
  member = google_service_account.service[each.key].member
}
