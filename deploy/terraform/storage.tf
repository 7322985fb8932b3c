resource "google_storage_bucket" "this" {
  for_each = local.buckets

  name     = each.value
  location = var.region

  uniform_bucket_level_access = true
  public_access_prevention    = "enforced"
  force_destroy               = false

  # What was deleted can be had back for as long as the databases can go back by the minute. No versions: an object is
  # named by the digest of its content and never overwritten with another.
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

  # Uploads that were never finished.
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

# The role can list, too: without that right a blob that is not there looks like an outage.
resource "google_storage_bucket_iam_member" "user" {
  for_each = local.bucket_of

  bucket = google_storage_bucket.this[each.value].name
  role   = "roles/storage.objectUser"
  member = google_service_account.service[each.key].member
}
