resource "google_monitoring_dashboard" "this" {
  for_each = fileset("${path.module}/../dashboards", "*.json")

  dashboard_json = file("${path.module}/../dashboards/${each.value}")

  depends_on = [google_project_service.this]
}
